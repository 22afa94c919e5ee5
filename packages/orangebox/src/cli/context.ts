/** What every command is given. */
import type { CliEnv } from './env.ts';
import type { Terminal } from './terminal.ts';

/** Options that say where a command reads from, as typed. */
export interface PlaceOptions {
  /** `--source`: base URL of a trace backend, or `local`. */
  source?: string;
  /** `--store`: `s3://bucket/prefix` or a directory. */
  store?: string;
  /** `--context`: a context of the config file. */
  context?: string;
  /** `--since`, of commands that look one reference up. */
  since?: string;
}

/** Surroundings of one run of the command. */
export interface CommandContext {
  env: CliEnv;
  terminal: Terminal;
  cwd: string;
  /** `--dir`, as typed. */
  dir: string | undefined;
  /** `--source`, `--store`, `--context`, `--since`. */
  places: PlaceOptions;
  nowMs: number;
}
