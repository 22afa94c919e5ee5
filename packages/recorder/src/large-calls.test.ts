/** Calls with large bodies: finished, sent and recovered piece by piece, they are what they would be whole. */
import { randomBytes } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { type OtlpReceiver, startOtlpReceiver } from '../../../test/helpers/otlp-receiver.mjs';
import { findSeries } from './recovery/series-files.ts';
import { SeriesScan } from './recovery/series-scan.ts';
import { inSlices } from './recovery/slices.ts';
import { shipItem } from './recovery/stored-payload.ts';
import {
  bytes,
  chatRequest,
  chatResponse,
  play,
  snapshotOf,
  testRecorder,
  type TestRecorder,
} from './testing/scripted-exchange.ts';

const receivers: OtlpReceiver[] = [];
const boxes: TestRecorder[] = [];

afterEach(async () => {
  for (const box of boxes.splice(0)) box.dispose();
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});

/** Cut within characters too. */
function cut(body: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(body.length / size) }, (_, i) => body.subarray(i * size, (i + 1) * size));
}

const long = 'Köln "☀"\n'.repeat(120_000);
const bodies: [name: string, request: Uint8Array, response: Uint8Array][] = [
  ['text', chatRequest([{ role: 'user', content: long }]), chatResponse(long)],
  ['a small answer', chatRequest([{ role: 'user', content: long }]), chatResponse('yes')],
  ['bytes that are no text', chatRequest([{ role: 'user', content: 'hi' }]), randomBytes(1_500_001)],
  ['a stream', chatRequest([]), bytes(`data: {"choices":[{"delta":{"content":${JSON.stringify(long)}}}]}\n\n`)],
];
const memories = [
  ['held in memory', {}],
  ['read back from the segment', { ORANGEBOX_MEMORY_BYTES: '1MiB' }],
] as const;
const cases = bodies.flatMap((body) => memories.map((memory) => [body[0], memory[0], body, memory[1]] as const));

test.each(cases)('%s, %s', async (_, __, [, request, response], env) => {
  const receiver = await startOtlpReceiver(({ number }) => ({ status: number === 1 ? 503 : 200 }));
  receivers.push(receiver);
  const box = testRecorder({ ORANGEBOX_ENDPOINT: receiver.url, ...env });
  boxes.push(box);
  play(box.recorder, { requestChunks: cut(request, 65_537), responseChunks: cut(response, 9_999) });
  await box.recorder.flush(20_000);
  const records = box.read();
  const [call] = records.calls;
  const snapshot = snapshotOf(records, call);
  expect(call?.fidelity).toEqual({ level: 'exact' });
  expect(call?.digest).toBe(snapshot.digest);
  const json = Buffer.from(JSON.stringify(call?.chain ? { ...snapshot, chain: call.chain } : snapshot));
  expect(call?.sizeBytes).toBe(json.length);
  const [payload] = receiver.payloads();
  expect(payload?.json?.equals(json)).toBe(true);
  expect(box.warnings).toEqual([]);
});

test('another process reads the same pieces', async () => {
  const box = testRecorder();
  boxes.push(box);
  for (const [, request, response] of bodies) {
    play(box.recorder, { requestChunks: cut(request, 65_537), responseChunks: cut(response, 9_999) });
  }
  box.finish();
  const pace = { sliceMs: 1000, pause: () => Promise.resolve() };
  const [series] = await inSlices(findSeries(box.dir), pace);
  const scan = new SeriesScan();
  if (series) await inSlices(scan.read(series), pace);
  expect(scan.pending.size).toBe(bodies.length);
  for (const pending of scan.pending.values()) {
    const item = shipItem(pending, scan.processes);
    if (!item?.openSnapshot) throw new Error('it can not be read');
    const whole = Buffer.from(await item.readSnapshotJson());
    expect(whole.length).toBe(item.sizeBytes);
    const pieces = await inSlices(item.openSnapshot(), pace);
    for (let time = 0; time < 2; time++) {
      expect(Buffer.concat(Array.from(pieces(), (piece) => new Uint8Array(piece))).equals(whole)).toBe(true);
    }
  }
});
