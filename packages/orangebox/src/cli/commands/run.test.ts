import { expect, it } from 'vitest';
import { nodeOptions, notReplayable } from './run.ts';

it('adds the preload behind the options that are there', () => {
  expect(nodeOptions(undefined, '/a/register.cjs')).toBe('--require /a/register.cjs');
  expect(nodeOptions('--enable-source-maps', '/a/register.cjs')).toBe('--enable-source-maps --require /a/register.cjs');
});

it('does not add it twice', () => {
  const once = nodeOptions(undefined, '/a/register.cjs');
  expect(nodeOptions(once, '/a/register.cjs')).toBe(once);
});

it('quotes a path with blanks as node reads NODE_OPTIONS', () => {
  expect(nodeOptions(undefined, '/my app/"x"/register.cjs')).toBe('--require "/my app/\\"x\\"/register.cjs"');
});

it('counts what cannot be replayed in words', () => {
  expect(notReplayable('connection to db:5432', 1)).toBe('1 connection to db:5432');
  expect(notReplayable('connection to db:5432', 3)).toBe('3 connections to db:5432');
  expect(notReplayable('output of git that did not come by the program', 1)).toBe(
    'output of git that did not come by the program',
  );
  expect(notReplayable('output of git that did not come by the program', 1200)).toBe(
    '1,200 × output of git that did not come by the program',
  );
});
