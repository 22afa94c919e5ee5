/** `orangebox path`: where `orangebox/register` is. */
import { createRequire } from 'node:module';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';

/** The absolute path of `orangebox/register`; a child process with another working directory cannot find it by name. */
export function registerPath(): string {
  return createRequire(import.meta.url).resolve('orangebox/register');
}

/** Prints it, alone on a line, for `node --require "$(npx orangebox path)" app.js`. */
export function path(context: CommandContext): number {
  context.terminal.line(registerPath());
  return EXIT.ok;
}
