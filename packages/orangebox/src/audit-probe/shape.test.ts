import { expect, it } from 'vitest';
import { changesOf, takeShape } from './shape.ts';

const descriptor = (value: unknown): PropertyDescriptor => ({ value, writable: true, configurable: true });
const one = (): void => undefined;
const other = (): void => undefined;

it('a shape changes with what is added, removed, or replaced by another function', () => {
  const before = new Map([
    ['kept', descriptor(one)],
    ['replaced', descriptor(one)],
    ['gone', descriptor(1)],
    ['number', descriptor(1)],
    ['getter', { get: one, configurable: true }],
    ['lazy', { get: one, configurable: true }],
  ]);
  const after = new Map([
    ['kept', descriptor(one)],
    ['replaced', descriptor(other)],
    ['number', descriptor(2)],
    ['getter', { get: other, configurable: true }],
    ['lazy', descriptor(one)],
    ['new', descriptor(1)],
  ]);
  expect(changesOf(before, after)).toEqual(['getter', 'gone', 'new', 'replaced']);
});

it('nothing has changed between two looks at the platform, and a replaced method of a prototype has', () => {
  const before = takeShape();
  expect(changesOf(before, takeShape())).toEqual([]);
  const { finally: original } = Promise.prototype;
  Promise.prototype.finally = function (...args) {
    return Reflect.apply(original, this, args) as ReturnType<typeof original>;
  };
  try {
    expect(changesOf(before, takeShape())).toEqual(['Promise.prototype.finally']);
  } finally {
    Promise.prototype.finally = original;
  }
});
