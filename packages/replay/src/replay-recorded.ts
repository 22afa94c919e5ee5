/** The recorded answer, given to a real client again: never an outgoing socket. */
import { parseSse } from '@orangebox/codec';
import { type Exchange, OrangeboxError, type Snapshot } from '@orangebox/schema';
import { findCall } from './lookup.ts';
import { recordedFetch } from './recorded-fetch.ts';
import { toRequest } from './recorded-message.ts';
import { type FoundSdk, findOpenAi, type SdkCall, sdkCallOf } from './sdk-openai.ts';
import { type GuardCount, withoutSockets } from './socket-guard.ts';
import type { RecordedReplay, RecordedReplayOptions, Reference } from './types.ts';

/** Longest a client may take over a recorded answer. */
const CLIENT_TIMEOUT_MS = 10 * 60_000;

/**
 * Replays a recorded call: its request is made with the SDK found from the working directory, else with plain `fetch`,
 * and answered from the recording: same bytes, same chunks, same failures.
 *
 * @throws OrangeboxError `OBX_REF_*`, `OBX_SNAPSHOT_*`, `OBX_REPLAY_NO_SDK`, `OBX_REPLAY_NO_EXCHANGE`. What the client
 * throws is part of the result.
 */
export async function replayRecorded(
  reference: Reference,
  options: RecordedReplayOptions = {},
): Promise<RecordedReplay> {
  const { snapshot } = await findCall(reference, options);
  const first = snapshot.exchanges[0];
  if (!first) {
    throw new OrangeboxError(
      'OBX_REPLAY_NO_EXCHANGE',
      `a ${snapshot.kind} snapshot has no answer of a server to replay`,
      {
        hint: 'replay the call that asked for the tool',
      },
    );
  }
  const count: GuardCount = { refused: 0 };
  const way = wayOf(snapshot, first, options);
  const recorded = recordedFetch(snapshot);
  const outcome = await withoutSockets(count, () =>
    'sdk' in way ? throughSdk(way, recorded, options) : throughFetch(first, recorded, options),
  );
  return {
    via:
      'sdk' in way
        ? { kind: 'sdk', name: way.sdk.name, version: way.sdk.version }
        : { kind: 'fetch', reason: way.reason },
    ...outcome,
    served: recorded.log.served,
    requestMatch: recorded.log.match,
    refusedSockets: count.refused,
  };
}

type Way = { sdk: FoundSdk; call: SdkCall } | { reason: string };

function wayOf(snapshot: Snapshot, first: Exchange, options: RecordedReplayOptions): Way {
  if (options.via === 'fetch') return { reason: 'asked for' };
  const call = sdkCallOf(first);
  if (typeof call === 'string') return noSdk(call, options);
  const cwd = options.cwd ?? process.cwd();
  const sdk = findOpenAi(cwd);
  if (!sdk) return noSdk(`no openai 4 to 7 is installed where ${cwd} finds it`, options);
  if (snapshot.kind !== 'llm') return noSdk('it was no LLM call', options);
  return { sdk, call };
}

function noSdk(reason: string, options: RecordedReplayOptions): Way {
  if (options.via !== 'sdk') return { reason };
  throw new OrangeboxError('OBX_REPLAY_NO_SDK', `no SDK to replay with: ${reason}`, {
    hint: 'replay with plain fetch, or run it where the openai package is installed',
  });
}

type Outcome = Pick<RecordedReplay, 'result' | 'events' | 'error'>;
type Recorded = ReturnType<typeof recordedFetch>;

async function throughSdk(
  { sdk, call }: { sdk: FoundSdk; call: SdkCall },
  recorded: Recorded,
  options: RecordedReplayOptions,
): Promise<Outcome> {
  const client = sdk.create({
    apiKey: 'replay',
    baseURL: call.baseURL,
    fetch: recorded.fetch,
    maxRetries: recorded.retries,
    defaultQuery: call.defaultQuery,
    timeout: CLIENT_TIMEOUT_MS,
  });
  try {
    const answer = await call.run(client, recorded.abort.signal);
    if (!call.isStream || !isAsyncIterable(answer)) return { result: answer };
    return await collectEvents(answer, options);
  } catch (error) {
    return { error };
  }
}

async function collectEvents(stream: AsyncIterable<unknown>, options: RecordedReplayOptions): Promise<Outcome> {
  const events: unknown[] = [];
  try {
    for await (const event of stream) {
      events.push(event);
      options.onEvent?.(event);
    }
    return { events };
  } catch (error) {
    return { events, error };
  }
}

async function throughFetch(exchange: Exchange, recorded: Recorded, options: RecordedReplayOptions): Promise<Outcome> {
  try {
    let response: Response | undefined;
    for (let attempt = 0; attempt <= recorded.retries; attempt += 1) {
      try {
        await response?.body?.cancel();
        response = await recorded.fetch(toRequest(exchange.request));
      } catch (error) {
        if (attempt === recorded.retries) throw error;
      }
    }
    if (!response) return {};
    const type = response.headers.get('content-type') ?? '';
    if (/^text\/event-stream/i.test(type)) return await collectEvents(sseEvents(response), options);
    return { result: await bodyOf(response, type) };
  } catch (error) {
    return { error };
  }
}

async function bodyOf(response: Response, type: string): Promise<unknown> {
  if (/[/+]json\b/i.test(type)) {
    const text = await response.text();
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  if (/^text\//i.test(type)) return response.text();
  return new Uint8Array(await response.arrayBuffer());
}

/** Events of a stream; their data parsed where it is JSON. */
async function* sseEvents(response: Response): AsyncGenerator<unknown, void, undefined> {
  const text = await response.text();
  for (const event of parseSse(text)) {
    let data: unknown = event.data;
    try {
      data = JSON.parse(event.data);
    } catch {
      // `[DONE]` and other plain texts stay texts.
    }
    yield { ...event, data };
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
