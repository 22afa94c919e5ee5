/** A file of declared rules. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type MatchRule, parseMatchRules } from '@orangebox/replay';
import { OrangeboxError } from '@orangebox/schema';
import type { CommandContext } from '../context.ts';
import { escapeLine } from '../text/escape.ts';

/** The rules of the named file; none without one. @throws OrangeboxError `OBX_FILE_RULES`, `OBX_CLI_MATCH_RULES` */
export function readRules(context: CommandContext, file: string | undefined): MatchRule[] {
  if (file === undefined) return [];
  let data: unknown;
  try {
    data = JSON.parse(readFileSync(resolve(context.cwd, file), 'utf8'));
  } catch (cause) {
    throw new OrangeboxError('OBX_FILE_RULES', `${escapeLine(file)} is no JSON that can be read`, {
      cause,
      hint: 'rules are a list of {"reason": "…", "at": "…"}, see docs/run-replay.md',
    });
  }
  return parseMatchRules(data);
}
