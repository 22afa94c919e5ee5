/** Where the commands write: what stands on the other end decides colour, width and questions. */
import pc from 'picocolors';
import type { Colors } from 'picocolors/types';
import type { PlaceOptions } from './context.ts';
import type { CliEnv } from './env.ts';
import { shownUrl } from './places.ts';
import { reportError } from './report-error.ts';
import { quoteId } from './show/next-commands.ts';

/** Standard streams of the command and what they can show. */
export interface Terminal {
  /** Standard output is a terminal: tables, wrapping, next commands. */
  readonly interactive: boolean;
  /** Standard error is a terminal: progress. */
  readonly errorInteractive: boolean;
  /** A person can be asked. */
  readonly canAsk: boolean;
  /** Columns of the terminal; 100 where there is none. */
  readonly width: number;
  /** `orangebox`, or `npx orangebox`. */
  readonly commandName: string;
  /** Options that said where to read from, for commands that come next: `--context prod`. */
  readonly placeWords?: string;
  readonly colors: Colors;
  readonly errorColors: Colors;
  /** Writes a line (or several) to standard output; of empty lines in a row only the first. */
  line(text?: string): void;
  /** Writes bytes to standard output as they are. */
  bytes(data: Uint8Array): void;
  /** Writes a line to standard error. */
  note(text: string): void;
}

/** The process' own streams. A reader that went away (`| head`) ends the command quietly, a full disk in one line. */
export function processTerminal(env: CliEnv): Terminal {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE' || error.code === 'EIO') process.exit(process.exitCode ?? 0);
      // Remarks that cannot be written are no reason to leave the work.
      if (stream === process.stderr) return;
      const note = (text: string): void => void process.stderr.write(`${text}\n`);
      const errorColors = pc.createColors(wantsColor(env, process.stderr.isTTY === true));
      process.exit(reportError(error, { note, errorColors }, false));
    });
  }
  const interactive = process.stdout.isTTY === true;
  const errorInteractive = process.stderr.isTTY === true;
  let afterBlank = true;
  return {
    interactive,
    errorInteractive,
    canAsk: process.stdin.isTTY === true && errorInteractive,
    width: interactive ? Math.max(40, process.stdout.columns || 100) : 100,
    commandName: env.commandName,
    colors: pc.createColors(wantsColor(env, interactive)),
    errorColors: pc.createColors(wantsColor(env, errorInteractive)),
    line: (text = '') => {
      if (text === '' && afterBlank) return;
      afterBlank = text === '' || text.endsWith('\n');
      process.stdout.write(`${text}\n`);
    },
    bytes: (data) => void process.stdout.write(data),
    note: (text) => void process.stderr.write(`${text}\n`),
  };
}

/** The terminal, with the options that next commands need to read from the same places. */
export function withPlaces(terminal: Terminal, env: CliEnv, dir: string | undefined, places: PlaceOptions): Terminal {
  const { source, store, context } = places;
  const isElsewhere = [source, store, context, env.source, env.store, env.contextName].some((n) => n !== undefined);
  const since = isElsewhere ? places.since : undefined;
  // What the environment names holds for the next command too; credentials are not repeated.
  const named = Object.entries({ context, source: source && shownUrl(source), store, dir, since });
  const words = named.flatMap(([name, value]) => (value === undefined ? [] : [`--${name} ${quoteId(value)}`]));
  return words.length === 0 ? terminal : { ...terminal, placeWords: words.join(' ') };
}

/** https://no-color.org and https://force-color.org: NO_COLOR wins, any value of FORCE_COLOR but 0 and false forces. */
function wantsColor(env: CliEnv, isTerminal: boolean): boolean {
  if (env.noColor) return false;
  if (env.forceColor !== undefined) return env.forceColor;
  return isTerminal && env.term !== 'dumb';
}
