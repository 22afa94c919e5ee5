import { expect, it } from 'vitest';
import { compareEnvironment } from './compared-facts.ts';

const hashes = (key: string, names: string): { [name: string]: string } =>
  Object.fromEntries([...names].map((name) => [name, `${key}-${name}`]));

it('compares variables by their hashes where both were made with one key', () => {
  const recorded = { values: { TZ: 'UTC' }, hashes: hashes('k', 'ABCDE') };
  const live = { values: { TZ: 'UTC' }, hashes: { ...hashes('k', 'ABCD'), D: 'other', F: 'k-F' } };
  expect(compareEnvironment(recorded, live)).toEqual([
    { name: 'D', recorded: 'k-D', live: 'other', isHashed: true },
    { name: 'E', recorded: 'k-E', isHashed: true },
    { name: 'F', live: 'k-F', isHashed: true },
  ]);
});

it('says of hashes of another key only which variables are there', () => {
  const recorded = { values: { TZ: 'UTC' }, hashes: hashes('k', 'ABCDE') };
  const live = { values: { TZ: 'CET' }, hashes: hashes('other', 'ABCD') };
  expect(compareEnvironment(recorded, live)).toEqual([
    { name: 'TZ', recorded: 'UTC', live: 'CET' },
    { name: 'E', recorded: 'k-E', isHashed: true },
  ]);
});
