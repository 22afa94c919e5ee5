/** What views are read from: very long streams by their beginning and end, since each event of them becomes objects. */
import type { AssembledExchanges } from '@orangebox/codec';
import type { Body, Exchange } from '@orangebox/schema';

/** Streams up to this size are read whole. */
export const VIEWED_STREAM_MAX_BYTES: number = 8 * 1024 * 1024;
/** The end of a stream says why it ended, and what it used. */
const TAIL_CHARS = 256 * 1024;

/** The exchanges with the bodies that views are made of; the same where none is too long. */
export function exchangesForViews({ exchanges }: AssembledExchanges): readonly Exchange[] {
  const last = exchanges.at(-1);
  const response = last?.response;
  if (!last || !response) return exchanges;
  const body = shortStream(response.body);
  if (body === response.body) return exchanges;
  return [...exchanges.slice(0, -1), { ...last, response: { ...response, body } }];
}

/** A stream of server-sent events without its middle, whole events on both sides. */
function shortStream(body: Body): Body {
  if (body.form !== 'text' || body.sizeBytes <= VIEWED_STREAM_MAX_BYTES) return body;
  const { text } = body;
  if (!/^\s*(?:data|event|id|retry)?:/.test(text.slice(0, 64))) return body;
  const headEnd = text.lastIndexOf('\n\n', VIEWED_STREAM_MAX_BYTES / 2);
  const tailStart = text.indexOf('\n\n', text.length - TAIL_CHARS);
  // Other line ends, or an event that is longer than both: then the beginning alone, however it ends.
  const short =
    headEnd > 0 && tailStart > headEnd
      ? text.slice(0, headEnd) + text.slice(tailStart)
      : text.slice(0, VIEWED_STREAM_MAX_BYTES / 2);
  return { form: 'text', sizeBytes: Buffer.byteLength(short), text: short };
}
