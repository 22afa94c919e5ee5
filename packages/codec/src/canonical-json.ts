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
  // The platform writes an object's members in their order, and much faster than member by member.
  const sorted = inOrder(value, 0);
  return sorted === UNORDERABLE ? write(value, 0) : JSON.stringify(sorted);
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

/** An object cannot hold the members in canonical order, or the value is not to be written at all. */
const UNORDERABLE = Symbol('unorderable');

/** The value with all members in canonical order; itself where they are. */
function inOrder(value: unknown, depth: number): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : UNORDERABLE;
  if (typeof value !== 'object' || depth >= CANONICAL_JSON_MAX_DEPTH) return UNORDERABLE;
  return Array.isArray(value) ? listInOrder(value, depth) : objectInOrder(value as Record<string, unknown>, depth);
}

function listInOrder(value: unknown[], depth: number): unknown {
  let copy: unknown[] | undefined;
  for (let i = 0; i < value.length; i++) {
    const item = value[i];
    if (item === undefined) continue;
    const sorted = inOrder(item, depth + 1);
    if (sorted === UNORDERABLE) return UNORDERABLE;
    if (sorted !== item) {
      copy ??= [...value];
      copy[i] = sorted;
    }
  }
  return copy ?? value;
}

function objectInOrder(value: Record<string, unknown>, depth: number): unknown {
  const names = Object.keys(value);
  let isSorted = true;
  for (let i = 1; i < names.length && isSorted; i++) isSorted = (names[i - 1] as string) < (names[i] as string);
  if (!isSorted) names.sort();
  // Most objects are in order already, and need no copy.
  let copy: Record<string, unknown> | undefined = isSorted ? undefined : {};
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    // An object has its integer names first, whatever the order they are set in.
    const first = name.charCodeAt(0);
    if ((first >= 0x30 && first <= 0x39) || name === '__proto__') return UNORDERABLE;
    const member = value[name];
    if (member === undefined) continue;
    const sorted = inOrder(member, depth + 1);
    if (sorted === UNORDERABLE) return UNORDERABLE;
    if (copy === undefined && sorted !== member) {
      copy = {};
      for (let before = 0; before < i; before++) copy[names[before] as string] = value[names[before] as string];
    }
    if (copy !== undefined) copy[name] = sorted;
  }
  return copy ?? value;
}
