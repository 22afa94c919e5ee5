import { expect, it } from 'vitest';
import { hasMoreValues } from './json-size.ts';
import { createLog } from './log.ts';
import { Booking, createByteAccount, createRoom } from './memory.ts';
import { exportResponse, statusBody } from './otlp-answer.ts';
import { decodeExportResponse, decodeStatus } from '../../../../test/helpers/otlp-sender.mjs';

it.each([
  ['[]', 1],
  ['[1,2,3]', 3],
  ['{"a":[{},{}],"b":"[,{"}', 6],
  [String.raw`["a\",[\\","b\\\",["]`, 2],
  ['"never closed, [', 0],
])('of %s counts the values outside strings', (json, values) => {
  const bytes = Buffer.from(json);
  expect(hasMoreValues(bytes, values)).toBe(false);
  if (values > 0) expect(hasMoreValues(bytes, values - 1)).toBe(true);
});

it('books bytes up to the bound, and gives back what a request held', () => {
  const account = createByteAccount(100);
  const [a, b] = [new Booking(account), new Booking(account)];
  expect([a.tryTake(60), b.tryTake(50), b.tryTake(40)]).toEqual([true, false, true]);
  a.give(10);
  expect(account.usedBytes).toBe(90);
  a.close();
  a.close();
  expect(account.usedBytes).toBe(40);
});

it('lets work wait until there is room, in the order it came', async () => {
  const room = createRoom(10);
  const order: string[] = [];
  const releases: (() => void)[] = [];
  const work = (name: string, weight: number): Promise<void> =>
    room.run(weight, async () => {
      order.push(name);
      await new Promise<void>((resolve) => releases.push(resolve));
    });
  const all = [work('a', 8), work('b', 5), work('c', 1)];
  await Promise.resolve();
  // c would fit, but b came first.
  expect([order, room.waiting, room.used]).toEqual([['a'], 2, 8]);
  releases.shift()?.();
  await expect.poll(() => order).toEqual(['a', 'b', 'c']);
  for (const release of releases) release();
  await Promise.all(all);
  expect(room.used).toBe(0);
  await expect(room.run(11, async () => undefined)).rejects.toThrow(RangeError);
  await expect(room.run(1, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(room.used).toBe(0);
});

it('writes one line of JSON per event, cut, and the same event only so often', () => {
  const lines: Record<string, unknown>[] = [];
  let now = 0;
  const log = createLog(
    (line) => {
      expect(line).toMatch(/^\{[^\n]*\}\n$/);
      lines.push(JSON.parse(line) as Record<string, unknown>);
    },
    () => now,
  );
  for (let i = 0; i < 1000; i += 1) log.warn('bad', { i });
  log.info('other', { text: `a\n${'b'.repeat(10_000)}` });
  expect(lines.map(({ event }) => event)).toEqual(['bad', 'bad', 'bad', 'bad', 'bad', 'other']);
  expect(String(lines[5]?.['text']).length).toBeLessThan(600);
  now = 10_000;
  log.warn('bad');
  expect(lines.at(-1)).toMatchObject({ event: 'bad', level: 'warn', suppressed: 995 });
});

it.each([1, 127, 128, 300, 70_000])('encodes answers of %i spans and bytes as protobuf has them', (n) => {
  const message = 'm'.repeat(n);
  expect(decodeExportResponse(exportResponse('protobuf', { spans: n, message }))).toEqual({
    partialSuccess: { rejectedSpans: n, errorMessage: message },
  });
  expect(decodeStatus(statusBody('protobuf', 14, message))).toEqual({ code: 14, message });
});
