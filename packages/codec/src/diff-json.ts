/** Where two JSON values differ. */
import type { Json } from '@orangebox/schema';
import { isObject } from './adapters/json.ts';

/** One place at which two values differ; absent values are undefined. */
export interface JsonDifference {
  path: string;
  left: Json | undefined;
  right: Json | undefined;
}

/** Places listed, at most. */
const DIFFERENCES_MAX = 200;
const DEPTH_MAX = 100;

/** The innermost places at which `left` and `right` differ, in the order of `left`. Key order does not count. */
export function diffJson(left: Json | undefined, right: Json | undefined, path = ''): JsonDifference[] {
  const out: JsonDifference[] = [];
  compare(left, right, path, 0, out);
  return out;
}

function compare(
  left: Json | undefined,
  right: Json | undefined,
  path: string,
  depth: number,
  out: JsonDifference[],
): void {
  if (left === right || out.length >= DIFFERENCES_MAX) return;
  if (depth < DEPTH_MAX && Array.isArray(left) && Array.isArray(right)) {
    const length = Math.max(left.length, right.length);
    for (let i = 0; i < length; i++) compare(left[i], right[i], `${path}[${i}]`, depth + 1, out);
  } else if (depth < DEPTH_MAX && isObject(left) && isObject(right)) {
    for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
      compare(left[key], right[key], path === '' ? key : `${path}.${key}`, depth + 1, out);
    }
  } else if (!(typeof left === 'number' && typeof right === 'number' && Number.isNaN(left) && Number.isNaN(right))) {
    out.push({ path, left, right });
  }
}
