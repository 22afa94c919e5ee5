/** What every command is given. */
import type { CliEnv } from './env.ts';
import type { Terminal } from './terminal.ts';

/** Surroundings of one run of the command. */
export interface CommandContext {
  env: CliEnv;
  terminal: Terminal;
  cwd: string;
  /** `--dir`, as typed. */
  dir: string | undefined;
  nowMs: number;
}
