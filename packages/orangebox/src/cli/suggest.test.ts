import { expect, it } from 'vitest';
import { nearest } from './suggest.ts';

const COMMANDS = ['ls', 'show', 'fetch', 'replay', 'resend', 'diff', 'doctor', 'purge', 'path', 'run'];

it.each([
  ['shwo', 'show'],
  ['list', 'ls'],
  ['doc', 'doctor'],
  ['replya', 'replay'],
  ['purg', 'purge'],
  ['xyzzy', undefined],
])('%s is taken for %s', (typed, meant) => {
  expect(nearest(typed, COMMANDS)).toBe(meant);
});
