/** How many values a JSON text holds, before it is parsed: three bytes of text can become forty of memory. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;

/** Whether a JSON text has more than `limit` values outside its strings. */
export function hasMoreValues(json: Uint8Array, limit: number): boolean {
  // Every value but the first stands after one of `,`, `[` and `{`.
  if (json.length <= limit) return false;
  let values = 0;
  for (let i = 0; i < json.length; i += 1) {
    const byte = json[i];
    if (byte === QUOTE) {
      i = endOfString(json, i + 1);
    } else if (byte === COMMA || byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      values += 1;
      if (values > limit) return true;
    }
  }
  return false;
}

/** Position of the quote that ends the string. */
function endOfString(json: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    const quote = json.indexOf(QUOTE, at);
    if (quote < 0) return json.length;
    let slashes = 0;
    while (quote - slashes > start && json[quote - slashes - 1] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote;
    at = quote + 1;
  }
}
