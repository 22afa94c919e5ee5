import { describe, expect, it } from 'vitest';
import { makeReceipt } from './make-receipt.ts';
import { receiptJson } from './receipt-json.ts';
import { receiptText } from './receipt-text.ts';
import type { ReceiptFacts, ReceiptVerdict } from './types.ts';
import { VERDICT_EXIT_CODE } from './verdict.ts';

const same = (name: string, value: string): { name: string; recorded: string; live: string } => ({
  name,
  recorded: value,
  live: value,
});

/** A replay without a fault, but for what a test says. */
function facts(other: Partial<ReceiptFacts> = {}): ReceiptFacts {
  return {
    run: { id: 'run-1', digest: 'd'.repeat(64) },
    command: ['node', 'agent.mjs'],
    code: { entry: same('entry', 'agent.mjs'), digest: same('digest', 'e'.repeat(64)) },
    versions: [same('node', 'v20.20.0'), same('openai', '6.49.0')],
    recordedRequests: 3,
    rungs: { exact: 2, canonical: 1, unified: 0, rule: 0 },
    rules: [],
    extra: 0,
    missing: 0,
    refused: [],
    liveConnections: 0,
    processes: { served: 0, started: 0 },
    notReplayable: [],
    outcome: [same('exit code', '0'), same('stdout', 'a'.repeat(64))],
    isInstrumented: true,
    ...other,
  };
}

const NOTHING = { exact: 0, canonical: 0, unified: 0, rule: 0 };
const otherDigest = { name: 'digest', recorded: 'a', live: 'b' };
const otherProgram = { entry: { name: 'entry', recorded: 'agent.mjs', live: 'other.mjs' }, digest: otherDigest };
const divergence = {
  kind: 'changed_request' as const, event: 9, step: 2, scope: [], summary: 'POST h/v1 is not the request on record', cause: 'code' as const,
  differences: [], furtherDifferences: 0, origins: [], environment: [],
      lastMatched: [], nearest: [], folded: 0, nextCommands: [],
}; // biome-ignore format: members

describe('the verdict on a replay', () => {
  const cases: [name: string, verdict: ReceiptVerdict, other: Partial<ReceiptFacts>][] = [
    ['all as recorded', 'replayed', {}],
    [
      'only processes were served',
      'replayed',
      { recordedRequests: 0, rungs: NOTHING, processes: { served: 2, started: 0 } },
    ],
    ['a recording that is not whole', 'damaged', { run: { id: 'r', digest: 'd', isDamaged: true } }],
    ['a connection that was made', 'not_sealed', { liveConnections: 1 }],
    ['a process that was started', 'not_sealed', { processes: { served: 3, started: 1 } }],
    ['another program', 'wrong_program', { code: otherProgram }],
    ['the program under another name', 'replayed', { code: { ...otherProgram, digest: same('digest', 'a') } }],
    [
      'an edited program that does the same',
      'replayed',
      { code: { entry: same('entry', 'agent.mjs'), digest: otherDigest } },
    ],
    ['another Node.js', 'wrong_runtime', { versions: [{ name: 'node', recorded: 'v20.20.0', live: 'v22.1.0' }] }],
    ['an empty recording', 'nothing_served', { recordedRequests: 0, rungs: NOTHING }],
    ['nothing that was asked for', 'nothing_served', { rungs: NOTHING, missing: 3 }],
    ['a program without Orangebox', 'nothing_served', { isInstrumented: false, rungs: NOTHING, missing: 3 }],
    ['a divergence at the first request', 'diverged', { divergence, rungs: NOTHING, missing: 3 }],
    ['a divergence', 'diverged', { divergence, missing: 1, outcome: [{ name: 'stdout', recorded: 'a', live: 'b' }] }],
    ['a request that is not on record', 'diverged', { extra: 1 }],
    ['a request that never came', 'incomplete', { missing: 1 }],
    ['another output', 'output_differs', { outcome: [{ name: 'stdout', recorded: 'a', live: 'b' }] }],
    ['a file that was not written', 'output_differs', { outcome: [{ name: 'out.txt', recorded: 'a' }] }],
  ];
  for (const [name, verdict, other] of cases) {
    it(`is ${verdict}: ${name}`, () => {
      const receipt = makeReceipt(facts(other));
      expect(receipt).toMatchObject({ verdict, exitCode: VERDICT_EXIT_CODE[verdict] });
      expect(receipt.exitCode === 0).toBe(verdict === 'replayed');
      expect(receipt.findings.length > 0).toBe(verdict !== 'replayed');
    });
  }

  it('says where the program was edited', () => {
    const edited = makeReceipt(facts({ code: { entry: same('entry', 'agent.mjs'), digest: otherDigest } }));
    expect(edited.warnings).toEqual(['changed since it was recorded: agent.mjs']);
  });

  it('has a code of its own for each class', () => {
    const codes = Object.values(VERDICT_EXIT_CODE);
    expect(new Set(codes).size).toBe(codes.length);
  });

  it('names everything that is wrong, what makes it worthless first', () => {
    const receipt = makeReceipt(facts({ code: otherProgram, missing: 1, liveConnections: 2 }));
    expect(receipt.findings).toEqual([
      '2 connections really went out',
      'the program was agent.mjs on record and is other.mjs',
      '1 recorded request never asked for',
    ]);
  });
});

describe('a receipt', () => {
  const rule = { reason: 'a stamp', at: 'body.at' };
  const receipt = makeReceipt(
    facts({
      rungs: { exact: 1, canonical: 1, unified: 0, rule: 1 },
      rules: [{ rule, uses: 1 }, { rule: { reason: 'old', at: 'header.x' }, uses: 0 }],
      refused: [{ what: 'connect db\u001b[2J:5432', count: 2 }],
      notReplayable: [{ what: 'connection to db:5432', count: 3 }],
      versions: [same('node', 'v20.20.0'), { name: 'openai', recorded: '6.49.0', live: '6.50.0' }],
    }),
  ); // biome-ignore format: a receipt

  it('as text has one line for each thing, warnings last', () => {
    expect(receiptText(receipt)).toBe(`\
replayed: run run-1
  served    3 of 3 requests: 1 exact, 1 canonical, 0 unified, 1 by rule
  not asked 0 missing, 0 extra
  sealed    2 attempts refused, 0 connections made; processes: 0 served, 0 started
  digests   recording dddddddddddddddd, program eeeeeeeeeeeeeeee
  rule      body.at, 1 ×: a stamp
  refused   2 × connect db\\u001b[2J:5432
  warning   not replayable: 3 × connection to db:5432
  warning   2 attempts to reach beyond the program refused
  warning   unused rule at header.x: old
  warning   openai was 6.49.0 on record and is 6.50.0
`);
  });

  it('of a failure begins with why, and ends with the divergence', () => {
    const lines = receiptText(makeReceipt(facts({ divergence }))).split('\n');
    expect(lines.slice(0, 2)).toEqual([
      'not replayed (diverged): run run-1',
      '  step 2: POST h/v1 is not the request on record',
    ]);
    expect(lines).toContain('diverged at step 2, event 9: changed request');
  });

  it('as JSON is one line, with its version', () => {
    const json = receiptJson(receipt);
    expect(json.indexOf('\n')).toBe(json.length - 1);
    expect(JSON.parse(json)).toMatchObject({
      schema: 'orangebox.replay-receipt/1',
      verdict: 'replayed',
      exitCode: 0,
      served: 3,
    });
  });
});
