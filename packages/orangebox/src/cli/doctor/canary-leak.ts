/** Whether a trace backend's answer holds anything of a payload. */
import { PAYLOAD } from '@orangebox/schema';

/** A text to look for, and what finding it means. */
interface Needle {
  text: string;
  what: string;
}

/** Looks for one payload. */
export class LeakSearch {
  readonly #needles: Needle[];

  /** @param gzip the payload as it was sent. */
  constructor(marker: string, gzip: Uint8Array) {
    const bytes = Buffer.from(gzip.buffer, gzip.byteOffset, gzip.byteLength);
    this.#needles = [
      { text: marker, what: 'the text of its messages' },
      ...encoded(Buffer.from(marker), 'the text of its messages'),
      // The head of a gzip is always the same; what follows is this payload's.
      ...encoded(bytes.subarray(10, 58), 'the bytes of its payload'),
      { text: `"${PAYLOAD.eventName}"`, what: `the event ${PAYLOAD.eventName}` },
      { text: PAYLOAD.body, what: `the attribute ${PAYLOAD.body}` },
    ];
  }

  /** What of the payload stands in an answer; undefined when nothing does. */
  find(answer: string): string | undefined {
    // JSON may write a slash with a backslash before it.
    const plain = answer.includes('\\/') ? answer.replaceAll('\\/', '/') : answer;
    return this.#needles.find(({ text }) => plain.includes(text))?.what;
  }
}

/** Bytes as base64 wherever they may begin in a longer text, and as hex in both cases. */
function encoded(bytes: Buffer, what: string): Needle[] {
  const texts = [bytes.toString('hex'), bytes.toString('hex').toUpperCase()];
  for (let before = 0; before < 3; before += 1) {
    const padded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // The first and last characters mix in bits of the neighbours.
    const text = padded.slice(before === 0 ? 0 : 4, -4);
    texts.push(text, text.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return [...new Set(texts)].map((text) => ({ text, what }));
}
