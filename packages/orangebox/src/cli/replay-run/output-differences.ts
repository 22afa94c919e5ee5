/** Where the output of a replay first differs from the recorded one. */
import type { OutputDifference } from '@orangebox/replay';
import type { OutputDigest } from '@orangebox/schema';

/** What a program wrote. */
interface Outputs {
  stdout: OutputDigest;
  stderr: OutputDigest;
}

/** Of a line more is not shown. */
const LINE_MAX_CHARS = 200;
const SECRET_TOKEN = /\{\{secret:[^}]*\}\}/;

/** The first line of each output that is another, as far as its beginning is on record. */
export function outputDifferences(recorded: Outputs, live: Outputs): OutputDifference[] {
  const differences: OutputDifference[] = [];
  for (const [name, was, is] of [
    ['standard output', recorded.stdout, live.stdout],
    ['standard error', recorded.stderr, live.stderr],
  ] as const) {
    if (was.sha256 === is.sha256) continue;
    // Nothing was kept of an output that was recorded by an earlier release.
    if (was.head === undefined && was.sizeBytes > 0) continue;
    const found = firstDifference(linesOf(was), linesOf(is));
    if (found) differences.push({ name, ...found });
  }
  return differences;
}

function linesOf({ head = '' }: OutputDigest): string[] {
  return Buffer.from(head, 'base64').toString('utf8').split('\n');
}

function firstDifference(
  recorded: readonly string[],
  live: readonly string[],
): Omit<OutputDifference, 'name'> | undefined {
  for (let i = 0; i < Math.max(recorded.length, live.length); i++) {
    const [was, is] = [recorded[i], live[i]];
    // Where a credential was replaced on one side only, the lines may be the same.
    if (was === is || (was !== undefined && SECRET_TOKEN.test(was))) continue;
    return {
      line: i + 1,
      ...(was === undefined ? {} : { recorded: cut(was) }),
      ...(is === undefined ? {} : { live: cut(is) }),
    };
  }
  return undefined;
}

function cut(line: string): string {
  return line.length > LINE_MAX_CHARS ? `${line.slice(0, LINE_MAX_CHARS)}…` : line;
}
