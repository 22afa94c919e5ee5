/**
 * Server-sent events as the HTML standard parses them: CR, LF and CRLF end a line, a leading byte order mark is
 * dropped, `data` lines are joined, comments are passed over, an event that no blank line ends is discarded.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */

/** One event. `event` is absent where the stream names none (then it is a `message`). */
export interface SseEvent {
  event?: string;
  data: string;
  id?: string;
}

/** Incremental parser. Chunks may end anywhere, also inside a character or between CR and LF. */
export class SseParser {
  #decoder: InstanceType<typeof TextDecoder> | undefined;
  /** Pieces of the line that is not over yet; joined once, so that a long line costs its length only. */
  #pieces: string[] = [];
  #started = false;
  #skipLineFeed = false;
  #event = '';
  #id: string | undefined;
  #data: string | undefined;
  #out: SseEvent[] = [];

  /** Takes the next chunk and returns the events that it completes. */
  push(chunk: Uint8Array | string): SseEvent[] {
    if (typeof chunk === 'string') return this.#feed(chunk);
    this.#decoder ??= new TextDecoder('utf-8', { ignoreBOM: true });
    return this.#feed(this.#decoder.decode(chunk, { stream: true }));
  }

  /** Forgets what no blank line has ended. The last line's text, complete or not, is returned for those who ask. */
  end(): string {
    const rest = this.#pieces.join('');
    this.#pieces = [];
    this.#data = undefined;
    this.#event = '';
    return rest;
  }

  #feed(text: string): SseEvent[] {
    let at = 0;
    if (!this.#started && text.length > 0) {
      this.#started = true;
      if (text.charCodeAt(0) === 0xfeff) at = 1;
    }
    if (this.#skipLineFeed && text.length > at) {
      if (text.charCodeAt(at) === 0x0a) at++;
      this.#skipLineFeed = false;
    }
    let feed = text.indexOf('\n', at);
    let carriage = text.indexOf('\r', at);
    while (feed >= 0 || carriage >= 0) {
      const byCarriage = carriage >= 0 && (feed < 0 || carriage < feed);
      const end = byCarriage ? carriage : feed;
      this.#line(text.slice(at, end));
      at = end + 1;
      if (byCarriage) {
        if (at === text.length) this.#skipLineFeed = true;
        else if (text.charCodeAt(at) === 0x0a) at++;
        carriage = text.indexOf('\r', at);
      }
      if (feed >= 0 && feed < at) feed = text.indexOf('\n', at);
    }
    if (at < text.length) this.#pieces.push(text.slice(at));
    const out = this.#out;
    this.#out = [];
    return out;
  }

  #line(tail: string): void {
    let line = tail;
    if (this.#pieces.length > 0) {
      line = this.#pieces.join('') + tail;
      this.#pieces = [];
    }
    if (line === '') {
      this.#dispatch();
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const from = colon < 0 ? line.length : line.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1;
    const value = line.slice(from);
    if (field === 'data') this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    else if (field === 'event') this.#event = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
  }

  #dispatch(): void {
    if (this.#data !== undefined) {
      const event: SseEvent = { data: this.#data };
      if (this.#event !== '') event.event = this.#event;
      if (this.#id !== undefined) event.id = this.#id;
      this.#out.push(event);
    }
    this.#data = undefined;
    this.#event = '';
  }
}

/** The events of a whole body. */
export function parseSse(body: Uint8Array | string): SseEvent[] {
  return new SseParser().push(body);
}
