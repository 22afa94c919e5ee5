/** A redirect that a client follows is one more attempt of the call, however the client lets go of the first answer. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { inRepository } from '../helpers/repository.ts';
import { runProgram } from './harness.ts';
import { endingOf, recordedSpans, responseText, runRecorded } from './recorded.ts';

const wireProgram = inRepository('test/wire/wire-program.mjs');
const sdkProgram = inRepository('test/endings/program.mjs');
const answer = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
});

/** The answer's text as a client prints it: as it is, or all of it in base64. */
const hello = new RegExp(`hello|${Buffer.from(answer).toString('base64').replaceAll('+', '\\+')}`);

let server: Server;
let origin: string;
/** Requests that came to the moved place, by the run's name. */
const moved = new Map<string, number>();

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      const [, place, run = ''] = (request.url ?? '').split('/');
      if (place !== 'moved') {
        response.writeHead(307, { location: `/moved/${run}/v1/chat/completions`, 'content-type': 'text/plain' });
        // More than a client takes from the socket at once, so that one that does not want it has to tear it down.
        response.end(place === 'long' ? 'gone'.repeat(500_000) : '');
        return;
      }
      const nth = moved.get(run) ?? 0;
      moved.set(run, nth + 1);
      const status = run.startsWith('busy') && nth === 0 ? 429 : 200;
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '20' });
      response.end(status === 200 ? answer : '{"error":{"message":"slow down"}}');
    });
    response.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const clients = ['axios', 'follow-redirects', 'node-fetch', 'node-fetch-2', 'got', 'fetch'];
const lengths = ['short', 'long'];

it.for(clients.flatMap((client) => lengths.map((length) => [client, length] as const)))(
  '%s, with a %s answer to the first request',
  async ([client, length]) => {
    const args = (run: string): string[] => [client, 'text', `${origin}/${length}/${run}/v1/chat/completions`];
    const [bare, recorded] = await Promise.all([
      runProgram(wireProgram, { args: args('run-a') }),
      runRecorded(wireProgram, { args: args('run-b') }),
    ]);
    expect(bare.stdout).toMatch(hello);
    expect([recorded.stdout.replaceAll('run-b', 'run-a'), recorded.stderr, recorded.code]).toEqual([
      bare.stdout,
      '',
      0,
    ]);

    expect(recorded.snapshots).toHaveLength(1);
    const { exchanges, attemptsBasis } = recorded.snapshots[0]!;
    expect(attemptsBasis).toBe('redirect');
    expect(exchanges.map((e) => e.response?.status)).toEqual([307, 200]);
    expect(endingOf(exchanges[1]!)).toBe('complete/done/200');
    expect(responseText(exchanges[1]!)).toBe(answer);
    const [own, ...attempts] = recordedSpans(recorded.calls[0]!);
    expect([own?.status.code, own?.attributes['http.response.status_code']]).toEqual([0, 200]);
    expect(attempts.map((s) => [s.status.code, s.attributes['http.response.status_code']])).toEqual([
      [0, 307],
      [0, 200],
    ]);
    expect(recorded.sent.map((s) => s.spanId).sort()).toEqual([own, ...attempts].map((s) => s?.spanId).sort());
  },
);

it.each([
  ['openai 6', {}],
  ['openai 4', { OPENAI_FROM: inRepository('test/programs/openai-4/package.json') }],
])('a retry by %s that is redirected as the request before it was', async (version, env) => {
  const base = `${origin}/short/busy-${version.replace(' ', '-')}/v1`;
  const { snapshots, stdout } = await runRecorded(sdkProgram, { env, args: ['retried', base] });
  expect(stdout).toContain('hello');
  const statuses = snapshots.map(({ exchanges }) => exchanges.map((e) => e.response?.status));
  expect(statuses).toEqual([[307, 429, 307, 200]]);
});
