/** `orangebox replay RUN -- COMMAND…`: a recorded run again, offline, and a receipt of it. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Receipt, receiptJson, receiptText } from '@orangebox/replay';
import { findRun } from '@orangebox/replay/process';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { locate } from '../locate.ts';
import { parseSpeed } from '../parse-options.ts';
import { placeOptions } from '../replay-run/replay-place.ts';
import { agreedCommand } from '../replay-run/agreed-command.ts';
import { CannotStart, replayFound } from '../replay-run/replay-found.ts';
import { readRules } from '../replay-run/rules-file.ts';
import { safeJson } from '../text/escape.ts';
import { cannotRun } from './run.ts';

/** Options of a run's replay. */
export interface ReplayRunOptions {
  rules?: string;
  receipt?: string;
  yes?: boolean;
  inPlace?: boolean;
  keep?: boolean;
  trustFiles?: boolean;
  unpinned?: boolean;
  timing?: string;
  json?: boolean;
}

/** Runs the program again and ends with the exit code of the receipt's verdict. */
export async function replayRun(
  context: CommandContext,
  reference: string,
  words: readonly string[],
  options: ReplayRunOptions,
): Promise<number> {
  const { dir: directory } = locate(context);
  const found = findRun(directory, reference);
  const command =
    words.length > 0
      ? words
      : await agreedCommand(context, { found, directory, name: `replay ${found.runId}`, yes: options.yes });
  // Nothing was replayed: that is no success.
  if (command === undefined) return EXIT.refused;
  const rules = readRules(context, options.rules);
  const speed = parseSpeed(options.timing, '--timing');
  let receipt: Receipt;
  try {
    receipt = await replayFound(context, {
      found,
      directory,
      command,
      rules,
      stdio: 'inherit',
      ...placeOptions(options),
      ...(speed === undefined ? {} : { speed }),
      ...(options.unpinned === true ? { unpinned: { isUnified: true } } : {}),
    });
  } catch (error) {
    if (!(error instanceof CannotStart)) throw error;
    return cannotRun(context, command[0] ?? '', error.cause, `orangebox replay ${found.runId} -- node app.js`);
  }
  if (options.receipt !== undefined) {
    writeFileSync(resolve(context.cwd, options.receipt), receiptJson(receipt), { mode: 0o600 });
  }
  // On standard error: standard output is the program's.
  context.terminal.note(
    options.json === true ? safeJson(JSON.parse(receiptJson(receipt))) : receiptText(receipt).trimEnd(),
  );
  return receipt.exitCode;
}
