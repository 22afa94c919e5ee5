/** `orangebox level`: shows or sets the level of programs that record into a directory, while they run. */
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Level, LEVEL_FILE, LEVELS, OrangeboxError, parseLevel } from '@orangebox/schema';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { locate, nothingRecorded } from '../locate.ts';
import { usage } from '../parse-options.ts';
import { escapeLine, safeJson } from '../text/escape.ts';

/** Options of the command. */
export interface LevelOptions {
  clear?: boolean;
  json?: boolean;
}

/** The recorder reads no more. */
const MAX_FILE_BYTES = 64;

/** Sets the level with a word, takes the word back with `--clear`, or shows who decides. */
export function level(context: CommandContext, word: string | undefined, options: LevelOptions): number {
  const located = locate(context);
  const file = join(located.dir, LEVEL_FILE);
  if (word !== undefined) {
    const wanted = parseLevel(word);
    if (options.clear === true) throw usage('--clear takes no level', 'give one of the two');
    if (!wanted) throw usage(`${escapeLine(word)} is no level`, `one of ${LEVELS.join(', ')}`);
    if (!located.exists && located.basis === 'default') throw nothingRecorded(context, located);
    mkdirSync(located.dir, { recursive: true, mode: 0o700 });
    writeBeside(file, `${wanted}\n`);
  } else if (options.clear === true) rmSync(file, { force: true });
  else if (!located.exists && located.basis === 'default') throw nothingRecorded(context, located);
  show(context, file, readLevel(file), options);
  return EXIT.ok;
}

function show({ terminal, env }: CommandContext, file: string, said: Level | undefined, options: LevelOptions): void {
  const decidedBy = said === undefined ? 'environment' : 'file';
  if (options.json === true) {
    terminal.line(safeJson({ level: said ?? null, decidedBy, file }, 2));
    return;
  }
  const c = terminal.colors;
  if (said === undefined) {
    const here = parseLevel(env.recording['ORANGEBOX_LEVEL'] ?? '') ?? 'full';
    terminal.line(`each program's own ORANGEBOX_LEVEL decides; of one that is started here: ${c.bold(here)}`);
    terminal.note(c.dim(`there is no ${escapeLine(file)}`));
    return;
  }
  terminal.line(`${c.bold(said)}, as ${escapeLine(file)} says`);
  terminal.note(
    c.dim('for calls that begin from the next second on; not where ORANGEBOX_LEVEL was off from the start, or'),
  );
  terminal.note(c.dim('where the program has called setLevel() since. orangebox level --clear takes it back'));
}

/** In one step, so that no program reads half a word. */
function writeBeside(file: string, text: string): void {
  const beside = `${file}.${process.pid}.tmp`;
  // Also a program of another user may have to read what root says; the directory keeps others out.
  writeFileSync(beside, text, { flag: 'wx', mode: 0o644 });
  try {
    renameSync(beside, file);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

function readLevel(file: string): Level | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  const said = stat.isFile() && stat.size <= MAX_FILE_BYTES ? parseLevel(readFileSync(file, 'utf8')) : undefined;
  if (said) return said;
  throw new OrangeboxError('OBX_CONFIG_INVALID', `${escapeLine(file)} holds no level; no program follows it`, {
    hint: `write one of ${LEVELS.join(', ')} with orangebox level, or remove the file`,
  });
}
