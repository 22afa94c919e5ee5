/** Requests of tests. */
import type { HeaderList } from '@orangebox/schema';
import type { AskedRequest, RecordedRequest } from '../matching/types.ts';

/** What a test says of a request; the rest is as usual. */
export interface RequestParts {
  scope?: string[];
  method?: string;
  url?: string;
  headers?: HeaderList;
  /** Bytes and text as they are, anything else as JSON. */
  body?: unknown;
}

/** A request as a program makes it. */
export function asked(parts: RequestParts = {}): AskedRequest {
  const { body } = parts;
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  return {
    scope: parts.scope ?? [],
    method: parts.method ?? 'POST',
    url: parts.url ?? 'https://api.openai.com/v1/chat/completions',
    headers: parts.headers ?? [
      ['content-type', 'application/json'],
      ['authorization', 'Bearer sk-live-0001'],
    ],
    body: Buffer.from(isRaw ? body : JSON.stringify(body ?? {})),
  };
}

/** Requests on record, in order. */
export function onRecord(...list: (RequestParts & { deliveriesBefore?: number })[]): RecordedRequest[] {
  return list.map((parts, index) => ({
    ...asked({
      ...parts,
      headers: parts.headers ?? [
        ['content-type', 'application/json'],
        ['authorization', 'Bearer {{secret:env.OPENAI_API_KEY}}'],
      ],
    }),
    index,
    attempt: 0,
    ...(parts.deliveriesBefore === undefined ? {} : { deliveriesBefore: parts.deliveriesBefore }),
  }));
}
