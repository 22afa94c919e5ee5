/** Canonical JSON after RFC 8785 (JSON Canonicalization Scheme): one text for one value. */
import { type Json, OrangeboxError } from '@orangebox/schema';

/** Values nested deeper than this are refused: no document of ours needs it, and hostile ones would end the stack. */
export const CANONICAL_JSON_MAX_DEPTH = 512;

/**
 * The RFC 8785 form of a JSON value: members sorted by UTF-16 code units, no white space, numbers and strings as
 * ECMAScript serialises them. Members that are `undefined` are left out, as `JSON.stringify` does.
 *
 * One deviation: RFC 8785 refuses strings with lone surrogates. A program's error text can hold one, and a recorder
 * must not fail on it, so they are escaped (`\ud800`) as `JSON.stringify` does; the form stays unique.
 *
 * @throws OrangeboxError `OBX_JSON_NUMBER` for NaN and infinities, `OBX_JSON_DEPTH` beyond
 * {@link CANONICAL_JSON_MAX_DEPTH}, `OBX_JSON_VALUE` for what is no JSON value.
 * @see https://www.rfc-editor.org/rfc/rfc8785
 */
export function canonicalJson(value: Json): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  if (value === null || value === true || value === false) return String(value);
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      if (!Number.isFinite(value)) {
        throw new OrangeboxError('OBX_JSON_NUMBER', `JSON has no number ${value}`);
      }
      // ECMAScript's shortest form is the one RFC 8785 names; JSON.stringify also writes -0 as 0.
      return JSON.stringify(value);
    case 'object':
      break;
    default:
      throw new OrangeboxError('OBX_JSON_VALUE', `JSON has no ${typeof value}`);
  }
  if (depth >= CANONICAL_JSON_MAX_DEPTH) {
    throw new OrangeboxError('OBX_JSON_DEPTH', `JSON nested deeper than ${CANONICAL_JSON_MAX_DEPTH}`);
  }
  if (Array.isArray(value)) {
    // Long lists (headers, chunks) are in canonical order most of the time; the platform writes them much faster.
    if (isInOrder(value, depth)) return JSON.stringify(value);
    let out = '[';
    for (let i = 0; i < value.length; i++) {
      if (i > 0) out += ',';
      const item: unknown = value[i];
      out += item === undefined ? 'null' : write(item, depth + 1);
    }
    return `${out}]`;
  }
  return writeObject(value as Record<string, unknown>, depth);
}

function writeObject(value: Record<string, unknown>, depth: number): string {
  let out = '{';
  let first = true;
  // The default sort compares UTF-16 code units, which is the order RFC 8785 §3.2.3 asks for.
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member === undefined) continue;
    out += `${first ? '' : ','}${JSON.stringify(key)}:${write(member, depth + 1)}`;
    first = false;
  }
  return `${out}}`;
}

/** Whether the platform's own JSON of a value is the canonical one. */
function isInOrder(value: unknown, depth: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth >= CANONICAL_JSON_MAX_DEPTH) return false;
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) if (!isInOrder(item, depth + 1)) return false;
    return true;
  }
  let last: string | undefined;
  for (const name in value) {
    if (last !== undefined && name <= last) return false;
    if (!isInOrder((value as Record<string, unknown>)[name], depth + 1)) return false;
    last = name;
  }
  return true;
}
