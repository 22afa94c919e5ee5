/** Must not fail quietly: 230 secrets in environment, arguments, child processes, answers and bodies of a run, none in its recording. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeSegment } from '@orangebox/codec';
import type { Receipt } from '@orangebox/replay';
import type { SegmentRecord } from '@orangebox/schema';
import { afterAll, expect, it } from 'vitest';
import { type CliResult, startCli } from '../cli/spawn.ts';
import { inRepository } from '../helpers/repository.ts';
import { makePlacements, REDACT_PATTERN, tracesOf } from '../secrets/placements.mjs';
import { startSecretsServer } from '../secrets/server.mjs';
import { cleanUp, placeProgram } from './harness.ts';

const outside = mkdtempSync(join(tmpdir(), 'obx-run-secrets-'));
afterAll(() => {
  cleanUp();
  rmSync(outside, { recursive: true, force: true });
});

const secret = (n: number): string => `PLANTED${n}${randomBytes(12).toString('hex')}`;

/** All bytes of a recording: its files, what the frames hold when they are decoded, and what stands in base64 in these. */
function textsOf(directory: string): Map<string, Buffer> {
  const texts = new Map<string, Buffer>();
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = readFileSync(join(entry.parentPath, entry.name));
    texts.set(entry.name, bytes);
    if (!entry.name.endsWith('.obxs')) continue;
    for (const { record } of decodeSegment(bytes) as Iterable<{ record: SegmentRecord }>) {
      const name = `${record.type} of ${entry.name}`;
      const parts: Buffer[] = [texts.get(name) ?? Buffer.alloc(0)];
      if ('bytes' in record) parts.push(Buffer.from(record.bytes));
      if (record.type === 'child') {
        for (const base64 of [record.stdin, ...record.events.map(({ bytes: output = '' }) => output)])
          parts.push(Buffer.from(base64, 'base64'));
      }
      texts.set(name, Buffer.concat(parts));
    }
  }
  return texts;
}

it('keeps no planted secret, and its replay finds every request exactly or in canonical form', async () => {
  const placements = makePlacements();
  const children = Array.from({ length: 20 }, (_, i) => secret(300 + i));
  const inArguments = Array.from({ length: 10 }, (_, i) => secret(400 + i));
  const server = await startSecretsServer(placements);
  const gone = await startSecretsServer(placements);
  gone.close();
  const list = join(outside, 'placements.json');
  const program = inRepository('test/secrets/program.mjs');
  writeFileSync(list, JSON.stringify({ placements, children, program, origin: server.url, refusedOrigin: gone.url }));
  const directory = placeProgram({ file: 'secrets.mjs' });
  const env = {
    ...Object.fromEntries(placements.flatMap(({ env: name, value }) => (name === undefined ? [] : [[name, value]]))),
    ...Object.fromEntries(children.map((value, i) => [`CHILD_TOKEN_${i}`, value])),
    ORANGEBOX_REDACT: REDACT_PATTERN,
  };
  const names = ['--api-key', '--token', '--password', '--client-secret', '--auth-token'];
  const flags = inArguments.flatMap((value, i) => {
    const name = names[i % names.length] ?? '';
    return i < names.length ? [`${name}=${value}`] : [name, value];
  });
  const command = [process.execPath, 'secrets.mjs', list, join(outside, 'received.json'), ...flags];
  let recorded: CliResult;
  try {
    recorded = await startCli(['run', '--replayable', '--', ...command], { cwd: directory, env }).ended;
  } finally {
    server.close();
  }
  expect(recorded).toMatchObject({ code: 0, stdout: 'carried\n' });
  const received = Object.keys(JSON.parse(readFileSync(join(outside, 'received.json'), 'utf8')) as object);
  expect(received.length).toBeGreaterThan(180);

  const texts = textsOf(join(directory, '.orangebox'));
  expect(texts.size).toBeGreaterThan(5);
  const found = [...placements.map(({ value }) => value), ...children, ...inArguments].flatMap((value) =>
    [...texts].flatMap(([name, bytes]) => {
      const trace = tracesOf(value).find((text) => bytes.includes(text));
      return trace === undefined ? [] : [`${trace} in ${name}`];
    }),
  );
  expect(found).toEqual([]);

  const runId = /recorded (run-[0-9a-f]{12})/.exec(recorded.stderr)?.[1] ?? '';
  const receiptFile = join(outside, 'receipt.json');
  const again = await startCli(['replay', runId, '--receipt', receiptFile, '--', ...command], { cwd: directory, env })
    .ended;
  const receipt = JSON.parse(readFileSync(receiptFile, 'utf8')) as Receipt;
  expect(receipt, again.stderr).toMatchObject({
    verdict: 'replayed',
    missing: 0,
    extra: 0,
    rungs: { unified: 0, rule: 0 },
  });
  expect(receipt.rungs.exact + receipt.rungs.canonical).toBeGreaterThan(180);
  expect(receipt.processes).toEqual({ served: 20, started: 0 });
  expect(again.stdout).toBe('carried\n');
}, 120_000);
