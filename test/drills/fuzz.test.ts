/** A sample of `npm run drill:fuzz`, which takes a million of each. */
import { expect, it } from 'vitest';
import { watchAllocations } from './fuzz/allocations.mjs';
import { checkInput, type InputKind, KINDS, runInputs } from './fuzz/run-inputs.mjs';

const SAMPLE = 600;

it.each(['segment', 'body'] as const)(
  'mutated inputs (%s) are read without a crash, a hang or a large piece of memory',
  async (kindName) => {
    const failures: string[] = [];
    const failed = (number: number, _: unknown, wrong: string): void =>
      void failures.push(`${kindName} ${number}: ${wrong}`);
    const { count } = await runInputs({ kindName, seed: 20_261_130, from: 0, to: SAMPLE, failed });
    expect(failures).toEqual([]);
    expect(count).toBe(SAMPLE);
  },
);

it.each(['segment', 'body'] as const)('an input (%s) comes out the same of its seed, and of its file', (kindName) => {
  const kind: InputKind<unknown> = KINDS[kindName] as InputKind<unknown>;
  const file = (number: number): Buffer => Buffer.from(kind.toFile(kind.make(7, number)));
  expect(file(12).equals(file(12))).toBe(true);
  expect(file(12).equals(file(13))).toBe(false);
  expect(Buffer.from(kind.toFile(kind.ofFile(file(12)))).equals(file(12))).toBe(true);
});

it('a reader that throws, takes long or takes a length at its word is told', async () => {
  const maxMs = 100;
  const reader = (check: () => void): InputKind<unknown> => ({
    ...(KINDS.segment as InputKind<unknown>),
    sizeOf: () => 10,
    check,
  });
  const unwatch = watchAllocations();
  try {
    const wrongOf = async (check: () => void): Promise<string | undefined> =>
      (await checkInput(reader(check), undefined, 0, maxMs)).wrong;
    expect(await wrongOf(() => undefined)).toBeUndefined();
    expect(await wrongOf(() => (undefined as unknown as string).length.toFixed())).toMatch(/^TypeError/);
    expect(await wrongOf(() => void new Uint8Array(2 ** 26))).toMatch(/asked for 67108864 bytes at once/);
    const busy = (): void => {
      const until = process.cpuUsage().user + (maxMs + 20) * 1000;
      while (process.cpuUsage().user < until);
    };
    expect(await wrongOf(busy)).toMatch(/^took \d+ ms/);
  } finally {
    unwatch();
  }
});
