/** Small readers of JSON of unknown shape. None of them throws. */
import type { Json, JsonObject } from '@orangebox/schema';

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an object, else an empty one. */
export function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** The value if it is an array, else an empty one. */
export function arrayOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of an array. */
export function objectsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The value if it is a string. */
export function stringOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The value if it is a string that is not empty. */
export function filledOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The value if it is a finite number. */
export function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** No protocol nests so deep, and whatever walks through such a value runs out of stack. */
const MAX_DEPTH = 500;

/** Parses JSON; undefined when it is none, or nests deeper than any reader could follow. */
export function parseJson(text: string | undefined): Json | undefined {
  if (text === undefined || text === '' || isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Whether JSON nests deeper than {@link MAX_DEPTH}; texts that are too short for it are not looked at. */
function isTooDeep(text: string): boolean {
  // What begins as neither does not nest: a long text that is no JSON at all is refused by the parser at once.
  if (text.length <= 2 * MAX_DEPTH || !/^\s*[[{]/.test(text)) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) i = endOfString(text, i);
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > MAX_DEPTH) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}

/** Index of the quote that ends the string that begins at `start`; the length of the text where none does. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

/** A string as it is, anything else as JSON text, nothing as the empty string. */
export function textOrJson(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The members whose names are not in `known`; undefined when there are none. */
export function unknownMembers(value: JsonObject, known: ReadonlySet<string>): JsonObject | undefined {
  let found: JsonObject | undefined;
  for (const key of Object.keys(value)) {
    if (known.has(key)) continue;
    found ??= {};
    setMember(found, key, value[key] as Json);
  }
  return found;
}

/** Sets a member also where its name is `__proto__`, which an assignment would take for the prototype. */
export function setMember(target: JsonObject, key: string, value: Json): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else target[key] = value;
}

/** Copies all members but those named in `except` to `target`. */
export function assignMembers(target: JsonObject, source: JsonObject, except?: ReadonlySet<string>): void {
  for (const key of Object.keys(source)) {
    if (!except?.has(key)) setMember(target, key, source[key] as Json);
  }
}
