/**
 * The replay part of the corpus run: calls recorded through the preload and the real SDK are replayed offline, and must give
 * what the program got; then each is resent to a local server, which must get the same bytes. Run by itself:
 * `node test/corpus/replay.mjs [DIR] [--calls N]`.
 */
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import net from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { decodeBody } from '@orangebox/codec';
import { replayRecorded, resend } from '@orangebox/replay';
import { EXCHANGE_HEADER } from './exchange.mjs';
import { corpusDirectory, loadCorpus } from './load.mjs';
import { runSdkVersion, sdkVersion } from './sdk.mjs';
import { describeError, sdkCallOf } from './sdk-call.mjs';
import { snapshotsIn } from './snapshots.mjs';
import { share, table } from './table.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** Counts the sockets that are opened while a function runs. */
async function countingSockets(run) {
  const original = net.Socket.prototype.connect;
  let opened = 0;
  net.Socket.prototype.connect = function connect(...args) {
    opened += 1;
    return Reflect.apply(original, this, args);
  };
  try {
    return { value: await run(), opened };
  } finally {
    net.Socket.prototype.connect = original;
  }
}

/** What JSON keeps of a value, for comparing with a line that a program wrote. */
const asJson = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
const equal = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** What the program got in its first call of an exchange. */
function originalOutcome(line) {
  if (line.error !== undefined) return { error: line.error };
  const { value } = line;
  if (value.events !== undefined) {
    // A stream that failed before its first event is a failed call.
    if (value.error !== undefined && value.events.length === 0) return { error: value.error };
    return { events: value.events, ...(value.error && { error: value.error }) };
  }
  return { result: value.result };
}

function replayedOutcome(replay) {
  return asJson({
    ...(replay.events !== undefined && { events: replay.events }),
    ...(replay.result !== undefined && { result: replay.result }),
    ...(replay.error !== undefined && { error: describeError(replay.error) }),
  });
}

/** Why a replay cannot know what the program did; undefined when it can. */
function ambiguous(call) {
  if (call.resource !== 'embeddings' || call.body.encoding_format !== 'base64') return undefined;
  return 'asked for base64 by name, as the SDK does by itself when nothing is named';
}

async function replayAll(recording, lines, exchanges, figures) {
  const seen = new Set();
  const snapshots = [];
  for await (const { snapshot } of snapshotsIn(recording)) {
    if (snapshot.kind !== 'llm') continue;
    const headers = snapshot.exchanges[0].request.headers;
    const n = Number(headers.find(([name]) => name === EXCHANGE_HEADER)?.[1]);
    const line = lines.get(n);
    // The SDK's stream helper makes a second call of the same request: the first is the one whose events are on record.
    if (line === undefined || seen.has(n)) continue;
    seen.add(n);
    snapshots.push(snapshot);
    const reason = ambiguous(sdkCallOf(exchanges[n]));
    if (reason !== undefined) {
      figures.exceptions.push({ id: exchanges[n].id, reason });
      continue;
    }
    figures.calls += 1;
    const { value: replay, opened } = await countingSockets(() => replayRecorded(snapshot, { cwd: root, via: 'sdk' }));
    figures.sockets += opened + replay.refusedSockets;
    figures.requestMatch[replay.requestMatch] += 1;
    const original = originalOutcome(JSON.parse(line));
    const replayed = replayedOutcome(replay);
    const response = snapshot.exchanges.at(-1).response;
    const sameChunks =
      replay.served.length === snapshot.exchanges.length &&
      replay.served.at(-1).chunks === response.chunks.filter((chunk) => chunk.sizeBytes > 0).length &&
      replay.served.at(-1).sizeBytes === response.body.sizeBytes;
    if (original.events !== undefined) {
      figures.streamed += 1;
      figures.events += original.events.length;
      if (sameChunks) figures.sameChunks += 1;
    }
    if (equal(original, replayed) && sameChunks) figures.equal += 1;
    else {
      const text = (value) => JSON.stringify(value).slice(0, 400);
      figures.failures.push({ id: exchanges[n].id, sameChunks, original: text(original), replayed: text(replayed) });
    }
  }
  return snapshots;
}

async function resendAll(snapshots, figures) {
  let received;
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    received = { body: Buffer.concat(parts), authorization: request.headers.authorization };
    response.setHeader('content-type', 'application/json').end('{}');
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const baseUrl = `http://127.0.0.1:${server.address().port}`;
  const env = { OPENAI_API_KEY: 'sk-resend-0123456789', AZURE_OPENAI_API_KEY: 'azure-resend-0123456789' };
  try {
    for (const snapshot of snapshots) {
      received = undefined;
      try {
        await resend(snapshot, { baseUrl, env, allowEffects: true });
      } catch (error) {
        if (error.code !== 'OBX_RESEND_REDACTED') throw error;
        figures.exceptions.push({ id: snapshot.id, reason: 'a secret was replaced in the body: not resent' });
        continue;
      }
      figures.resent += 1;
      const recorded = Buffer.from(decodeBody(snapshot.exchanges.at(-1).request.body));
      if (received?.body.equals(recorded)) figures.sameBytes += 1;
      else figures.failures.push({ id: snapshot.id, resent: received?.body.toString('utf8', 0, 200) });
    }
  } finally {
    await new Promise((closed) => server.close(closed));
  }
}

/** Records, replays and resends `calls` exchanges spread over the whole folder; gives the figures. */
export async function runReplay(exchanges, { directory, calls = 210 } = {}) {
  const sendable = exchanges.filter((exchange) => {
    const call = sdkCallOf(exchange);
    return call !== undefined && call.skip === undefined;
  });
  const every = Math.max(1, Math.floor(sendable.length / calls));
  const figures = {
    calls: 0,
    equal: 0,
    streamed: 0,
    sameChunks: 0,
    events: 0,
    sockets: 0,
    requestMatch: { exact: 0, canonical: 0, different: 0 },
    resent: 0,
    sameBytes: 0,
    exceptions: [],
    failures: [],
  };
  const version = { from: join(root, 'package.json'), every };
  await runSdkVersion(version, exchanges, {
    directory,
    limit: calls,
    onRecording: async (recording, lines) => {
      const snapshots = await replayAll(recording, lines, exchanges, figures);
      await resendAll(snapshots, figures);
    },
  });
  figures.sdk = sdkVersion(version.from);
  return figures;
}

/** Whether all is as it should be. */
export function replayPassed(figures) {
  return (
    figures.failures.length === 0 && figures.sockets === 0 && figures.calls > 0 && figures.requestMatch.different === 0
  );
}

/** The figures as a table. */
export function replayTable(figures) {
  return table([
    ['replay', `openai ${figures.sdk}`],
    ['replayed equal to the original', share(figures.equal, figures.calls)],
    ['streamed in the recorded chunks', share(figures.sameChunks, figures.streamed)],
    ['stream events', figures.events],
    ['sockets opened', figures.sockets],
    ['requests made exactly, in another form, otherwise', Object.values(figures.requestMatch).join(', ')],
    ['resent with the same bytes', share(figures.sameBytes, figures.resent)],
    ['exceptions', figures.exceptions.length],
  ]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { calls: { type: 'string', default: '210' } },
  });
  const directory = positionals[0] === undefined ? corpusDirectory() : resolve(positionals[0]);
  if (existsSync(directory)) {
    const figures = await runReplay(loadCorpus(directory), { directory, calls: Number(values.calls) });
    console.log(replayTable(figures));
    for (const failure of figures.failures.slice(0, 10)) console.log(JSON.stringify(failure));
    for (const reason of new Set(figures.exceptions.map((exception) => exception.reason))) {
      console.log(
        `${figures.exceptions.filter((exception) => exception.reason === reason).length} excepted: ${reason}`,
      );
    }
    console.log(`${figures.equal + figures.sameBytes} passed, ${figures.failures.length} failed`);
    process.exitCode = replayPassed(figures) ? 0 : 1;
  } else console.log(`no recorded exchanges at ${directory}\n0 passed, 0 failed, 1 skipped`);
}
