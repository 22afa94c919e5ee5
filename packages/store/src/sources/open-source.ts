/** Opening a trace backend by its address alone. */
import { OrangeboxError } from '@orangebox/schema';
import { field, isObject, objectOf } from './foreign-json.ts';
import { createJaegerSource, servicesOf } from './jaeger-source.ts';
import { createSourceClient, type SourceClient } from './source-client.ts';
import { createTempoSource } from './tempo-source.ts';
import type { SourceOptions, TraceSource } from './trace-source.ts';

/**
 * Opens the query API at a base URL and finds out whose it is by asking. `jaeger+http://…` and `tempo+https://…` say
 * it, and nothing is asked.
 *
 * @throws OrangeboxError `OBX_SOURCE_URL`, `OBX_SOURCE_UNREACHABLE`, `OBX_SOURCE_DENIED`, and `OBX_SOURCE_ANSWER` when
 * neither is there.
 */
export async function openTraceSource(url: string, options: Omit<SourceOptions, 'url'> = {}): Promise<TraceSource> {
  const said = /^\s*(jaeger|tempo)\+(https?:.*)$/is.exec(url);
  const settings = { ...options, url: withoutPage(said?.[2] ?? url) };
  const kind = said?.[1]?.toLowerCase() ?? (await ask(createSourceClient(settings)));
  return kind === 'jaeger' ? createJaegerSource(settings) : createTempoSource(settings);
}

/** People paste the address that they see in the browser. */
function withoutPage(url: string): string {
  return url.trim().replace(/\/+(search\/?)?(\?.*|#.*)?$/s, '');
}

async function ask(client: SourceClient): Promise<'jaeger' | 'tempo'> {
  if (await isAnswered(client, '/api/v3/services', ({ json }) => isServices(json))) return 'jaeger';
  if (await isAnswered(client, '/api/echo', ({ text }) => text.trim() === 'echo')) return 'tempo';
  if (await isAnswered(client, '/api/search/tags', ({ json }) => Array.isArray(field(objectOf(json), 'tagNames')))) {
    return 'tempo';
  }
  if (await isAnswered(client, '/api/services', ({ json }) => isServices(json))) return 'jaeger';
  throw new OrangeboxError('OBX_SOURCE_ANSWER', `${client.location} is neither Jaeger's query API nor Tempo's`, {
    hint: 'name its base URL, or say which it is: jaeger+http://… or tempo+http://…',
  });
}

async function isAnswered(
  client: SourceClient,
  path: string,
  fits: (answer: { json: unknown; text: string }) => boolean,
): Promise<boolean> {
  try {
    const answer = await client.get(path);
    return answer.status === 200 && fits(answer);
  } catch (error) {
    // A server that is there but fails at a path that it does not have is asked the next question.
    if (error instanceof OrangeboxError && / answers 5\d\d/.test(error.message)) return false;
    throw error;
  }
}

function isServices(json: unknown): boolean {
  return isObject(json) && servicesOf(json) !== undefined;
}
