import { gzipSync } from 'node:zlib';
import { createMemoryStore } from '@orangebox/store';
import { expect, it } from 'vitest';
import { type TestAttempt, TestSegments } from '../../../store/src/testing/write-segments.ts';
import { answerTo, routeOf } from './answers.ts';

const MIB = 1024 * 1024;

it('unpacks bodies that are gigabytes in part, with a note and a link to the bytes', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * MIB, 'z'));
  const attempt: TestAttempt = { status: 500, responseHeaders: [['content-encoding', 'gzip']], response: [bomb] };
  const snapshot = new TestSegments('unused').call({ attempts: Array.from({ length: 12 }, () => attempt) });
  const store = createMemoryStore();
  await store.put(snapshot);
  const path = `/t/${snapshot.trace.traceId}/${snapshot.trace.spanId}`;
  const before = process.memoryUsage().rss;
  const answer = await answerTo(routeOf(path), {
    store,
    words: { command: 'orangebox', options: '' },
    nowMs: Date.now,
  });
  const body = 'body' in answer ? String(answer.body) : '';
  expect(body.match(/only the first 1.0 MiB were read for this page/g)?.length).toBe(8);
  expect(body.match(/response body: [^<]* not shown: the page is full/g)?.length).toBe(4);
  expect(body).toContain('was not read for the conversation');
  expect(body).toContain(`href="${path}/raw/11/response"`);
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * MIB);
});
