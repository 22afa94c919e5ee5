/**
 * What was recorded of a run, against what its server saw: one exchange with the same bytes for each request that reached the
 * wire by HTTP/1, in as many ended calls as there should be, each with one span.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { collectRecords, decodeBody, decodeSegment } from '@orangebox/codec';
import { snapshotsIn } from '../../corpus/snapshots.mjs';

/** Ended calls of a recording as they stand in its segments. */
function endedCalls(directory) {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.obxs'))
    .flatMap((file) => {
      const decoder = decodeSegment(readFileSync(join(directory, file)), { crc32 });
      return collectRecords([...decoder].map(({ record }) => record)).calls;
    });
}

const bytesOf = (body) => Buffer.from(decodeBody(body));
const isPrefix = (prefix, whole) => prefix.length <= whole.length && prefix.equals(whole.subarray(0, prefix.length));

/** Why an exchange is not the record of a request; undefined where it is. */
function mismatch(exchange, request) {
  const url = new URL(exchange.request.url);
  if (exchange.request.method !== request.method) return `method ${exchange.request.method}`;
  // A proxy is asked for the whole URL.
  if (![`${url.pathname}${url.search}`, exchange.request.url].includes(request.path))
    return `URL ${exchange.request.url}`;
  const complete = exchange.ending === 'complete';
  const whole = complete && exchange.truncated === undefined;
  const sent = bytesOf(exchange.request.body);
  const received = request.body;
  if (whole ? !sent.equals(received) : !(isPrefix(sent, received) || isPrefix(received, sent)))
    return `request body of ${sent.length} bytes, ${received.length} received`;
  if (complete && request.rawHeaders !== undefined) {
    const wire = request.rawHeaders.filter((_, i) => i % 2 === 0).join();
    const recorded = exchange.request.headers.map(([name]) => name).join();
    if (wire !== recorded) return `headers ${recorded}, ${wire} received`;
    const wrong = exchange.request.headers.find(
      ([, value], i) => !value.includes('{{secret:') && value !== request.rawHeaders[2 * i + 1],
    );
    if (wrong !== undefined) return `header ${wrong.join(': ')}`;
  }
  const bodyless = request.method === 'HEAD' || [204, 304].includes(exchange.response?.status);
  const answer = exchange.response === undefined ? Buffer.alloc(0) : bytesOf(exchange.response.body);
  const given = bodyless ? Buffer.alloc(0) : request.sent;
  if (whole ? !answer.equals(given) : !isPrefix(answer, given))
    return `response body of ${answer.length} bytes, ${given.length} sent`;
  return undefined;
}

/** Pairs requests with exchanges; the failures are texts. */
function pairUp(requests, exchanges) {
  const failures = [];
  const left = [...exchanges];
  for (const request of requests) {
    const index = left.findIndex((exchange) => mismatch(exchange, request) === undefined);
    if (index >= 0) left.splice(index, 1);
    else {
      const reasons = left.map((exchange) => mismatch(exchange, request)).join('; ');
      failures.push(`no exchange equals ${request.method} ${request.path} (${reasons || 'none is left'})`);
    }
  }
  for (const { request, ending } of left) failures.push(`${request.method} ${request.url} (${ending}) was on no wire`);
  return failures;
}

/** `died`: how many calls have no end of their own, since the process or its thread was ended from outside. */
function checkSpans(snapshots, calls, run, { natural, died = 0 }) {
  const failures = [];
  const isEnded = ({ id }) => calls.some((call) => call.trace.spanId === id);
  const open = snapshots.filter((snapshot) => !isEnded(snapshot)).length;
  if (open !== died) failures.push(`${open} calls have no end, ${died} expected`);
  for (const snapshot of snapshots.filter(isEnded)) {
    const { id } = snapshot;
    const ended = calls.filter((call) => call.trace.spanId === id);
    if (ended.length !== 1) failures.push(`call ${id} is ended ${ended.length} times`);
    const recorded = ended.flatMap((call) => call.spans).filter((span) => span.spanId === id);
    if (recorded.length !== 1) failures.push(`call ${id} has ${recorded.length} span records`);
    const exported = run.spans.filter((span) => span.spanId === id);
    if (natural ? exported.length !== 1 : exported.length > 1)
      failures.push(`call ${id} was exported ${exported.length} times`);
    for (const span of exported) {
      if (span.attributes['orangebox.snapshot.digest'] !== snapshot.digest)
        failures.push(`the exported span of call ${id} has another digest`);
    }
  }
  if (calls.length !== snapshots.length - open)
    failures.push(`${calls.length} ended calls, ${snapshots.length} snapshots`);
  return failures;
}

/** Failures of one run's recording, as texts. */
export async function checkRecording(testCase, run) {
  const snapshots = [];
  if (existsSync(run.recording)) {
    for await (const { snapshot } of snapshotsIn(run.recording)) {
      if (snapshot.kind === 'llm' || snapshot.kind === 'http') snapshots.push(snapshot);
    }
  }
  const exchanges = snapshots.flatMap((snapshot) => snapshot.exchanges);
  const recorded =
    testCase.unrecorded === undefined ? run.requests : run.requests.filter((r) => !testCase.unrecorded(r));
  const failures = pairUp(
    recorded,
    exchanges.filter((e) => testCase.offWire?.(e) !== true),
  );
  const expected = testCase.calls ?? recorded.length;
  if (snapshots.length !== expected) failures.push(`${snapshots.length} calls, ${expected} expected`);
  const natural = run.code !== null && testCase.natural !== false && testCase.local !== true;
  const { died } = testCase;
  failures.push(...checkSpans(snapshots, endedCalls(run.recording), run, { natural, died }));
  if (testCase.endings !== undefined) {
    const endings = exchanges.map((e) => `${e.ending}/${e.response?.status ?? '-'}`).sort();
    const left = [...endings];
    const missing = testCase.endings.filter((wanted) => {
      const at = left.findIndex((ending) => wanted.split(' or ').includes(ending));
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    });
    if (missing.length + left.length > 0)
      failures.push(`endings ${endings.join()}, ${testCase.endings.join()} expected`);
  }
  try {
    testCase.recorded?.({ snapshots, exchanges, requests: run.requests, bytesOf });
  } catch (error) {
    failures.push(`recorded: ${error.message}`);
  }
  return failures;
}
