import { expect, it } from 'vitest';
import { plainJson } from './plain-data.ts';

class Named {
  name = 'x';
}
const holes: unknown[] = [1];
holes[2] = 3;
const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;
let deep: unknown = 1;
for (let i = 0; i < 200; i++) deep = [deep];

it.each([
  ['texts, numbers, lists and objects', { a: [1, -1.5, '"\n', true, null, {}], b: {} }],
  ['an own member of that name', JSON.parse('{"__proto__": {"a": 1}}')],
  ['nothing', null],
])('gives the JSON of %s, of which the same comes again', (_, value) => {
  expect(JSON.parse(plainJson(value) ?? '')).toEqual(value);
});

it.each<[string, unknown]>([
  ['undefined', undefined],
  ['undefined within', { a: undefined }],
  ['NaN', Number.NaN],
  ['minus zero', -0],
  ['a bigint', 1n],
  ['a symbol', Symbol('a')],
  ['a function', () => 1],
  ['a date', new Date(0)],
  ['a map', new Map()],
  ['bytes', new Uint8Array(1)],
  ['an instance', new Named()],
  ['an object without a prototype', Object.create(null)],
  ['a list with holes', holes],
  ['a list with a member of its own', Object.assign([1], { a: 1 })],
  ['a getter', Object.defineProperty({}, 'a', { enumerable: true, get: () => 1 })],
  ['a hidden member', Object.defineProperty({}, 'a', { value: 1 })],
  ['a member by a symbol', { [Symbol('a')]: 1 }],
  ['one that writes itself', { toJSON: () => 1 }],
  ['one within itself', cyclic],
  ['one that is too deep', deep],
  ['a long text', 'x'.repeat(9 * 1024 * 1024)],
])('gives nothing for %s', (_, value) => {
  expect(plainJson(value)).toBeUndefined();
});
