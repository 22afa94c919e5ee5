import { expect, it } from 'vitest';
import { nodeOptions } from './run.ts';

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
