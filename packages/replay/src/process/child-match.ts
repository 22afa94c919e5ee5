/** Whether a child process that the program wants to start, or what it writes to one, is what is on record. */
import { isUtf8 } from 'node:buffer';
import type { ChildRecord } from '@orangebox/schema';
import { fitSecrets, type SecretFit } from '../matching/secret-fit.ts';
import type { LeafDifference } from '../matching/types.ts';

/** What the program wants to start. */
export interface AskedCommand {
  file: string;
  argv: string[];
  cwd: string;
}

/** What the tokens of a recording stand for in the live program: one value each, and no two the same. */
export class ChildSecrets {
  readonly #live: Map<string, string> = new Map();
  readonly #tokens: Map<string, string> = new Map();

  /** Whether a text is the recorded one but for its secrets. What it tells of tokens is added to `found`. */
  fits(recorded: string, live: string, found: SecretFit[]): boolean {
    const fits = fitSecrets(recorded, live);
    if (fits === undefined) return false;
    const all = [...found, ...fits];
    const isOne = fits.every((fit) => {
      const value = this.#live.get(fit.token);
      const token = this.#tokens.get(fit.live);
      return (
        (value ?? fit.live) === fit.live &&
        (token ?? fit.token) === fit.token &&
        all.every((other) => (other.token === fit.token) === (other.live === fit.live))
      );
    });
    if (isOne) for (const fit of fits) found.push(fit);
    return isOne;
  }

  /** The texts are the program's: what was found holds from now on. */
  bind(found: readonly SecretFit[]): void {
    for (const { token, live } of found) {
      this.#live.set(token, live);
      this.#tokens.set(live, token);
    }
  }
}

/** Where a command differs from the recorded one; nowhere: what its secrets are is added to `found`. */
export function commandDifferences(
  record: ChildRecord,
  asked: AskedCommand,
  secrets: ChildSecrets,
  found: SecretFit[] = [],
): LeafDifference[] {
  const differences: LeafDifference[] = [];
  const compare = (path: string, recorded: string | undefined, live: string | undefined): void => {
    const isSame =
      recorded === undefined || live === undefined ? recorded === live : secrets.fits(recorded, live, found);
    if (!isSame) differences.push(difference(path, recorded, live));
  };
  compare('child.file', record.file, asked.file);
  for (let i = 0; i < Math.max(record.argv.length, asked.argv.length); i++) {
    compare(`child.argv[${i}]`, record.argv[i], asked.argv[i]);
  }
  compare('child.cwd', record.cwd, asked.cwd);
  return differences;
}

/** Whether what was written to a child is what is on record. */
export function inputDifferences(record: ChildRecord, written: Buffer, secrets: ChildSecrets): LeafDifference[] {
  const recorded = Buffer.from(record.stdin, 'base64');
  if (recorded.equals(written)) return [];
  // Of bytes that are no text, each is a character of its own.
  const encoding = isUtf8(recorded) && isUtf8(written) ? 'utf8' : 'latin1';
  const [left, right] = [recorded.toString(encoding), written.toString(encoding)];
  const found: SecretFit[] = [];
  if (secrets.fits(left, right, found)) {
    secrets.bind(found);
    return [];
  }
  return [difference('child.stdin', left, right)];
}

function difference(path: string, recorded: string | undefined, live: string | undefined): LeafDifference {
  return {
    path,
    ...(recorded === undefined ? {} : { recorded: { type: 'text', text: recorded } }),
    ...(live === undefined ? {} : { live: { type: 'text', text: live } }),
  };
}
