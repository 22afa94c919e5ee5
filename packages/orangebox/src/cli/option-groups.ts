/** Options that several commands share. */
import { type Command, Option } from 'commander';
import type { PlaceOptions } from './context.ts';

/** `--dir`, which every command has. */
export function dirOption(): Option {
  return new Option('-d, --dir <directory>', 'recordings (default: ORANGEBOX_DIR, or the nearest .orangebox upward)');
}

/** Which calls: for lists and copies. */
export function filters(command: Command): Command {
  return command
    .option('--since <time>', 'from this time on: 15m, 2h, 3d, today, 2026-03-01, ISO time')
    .option('--until <time>', 'before this time')
    .option('--model <text>', 'part of the model name')
    .option('--status <what>', '429, 4xx, ok, error, an ending such as cut, or lost')
    .option('--tool <name>', 'a tool that was asked for or run')
    .option('--text <text>', 'text in the bodies')
    .option('--session <id>', 'calls of a session')
    .option('--user <id>', 'calls of a user')
    .option('--trace <id>', 'calls of a trace')
    .option('--kind <kinds>', 'llm, tool, http, state; several with commas');
}

/** Where from: for commands that read from other places than this machine too. */
export function reading(command: Command): Command {
  return command
    .option('--source <url>', 'ask this Jaeger or Tempo (default: ORANGEBOX_SOURCE), or "local"')
    .option('--store <place>', 's3://bucket/prefix or a directory (default: ORANGEBOX_STORE)')
    .option('--context <name>', 'places named in the config file (default: ORANGEBOX_CONTEXT)');
}

/** Where from, for commands that look a reference up. */
export function referring(command: Command): Command {
  return reading(command).option('--since <time>', 'look in a bucket from this time on: 15m, 2h, 3d, 2026-03-01');
}

/** Waiting for what is promised. */
export function wait(command: Command): Command {
  return command.option('--wait [time]', 'wait for what a span promises and has not arrived (default: 60s)');
}

/** Those of a command's options that say where to read from. */
export function placesOf(options: PlaceOptions): PlaceOptions {
  const places: PlaceOptions = {};
  for (const name of ['source', 'store', 'context', 'since'] as const) {
    const value = options[name];
    if (typeof value === 'string' && value.trim() !== '') places[name] = value.trim();
  }
  return places;
}
