/**
 * Programs that are killed, or exit, at a random moment while they make calls; then their directory is recovered, and what is on
 * record is compared with what the provider and the programs had noted.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startOtlpReceiver } from '../../helpers/otlp-receiver.mjs';
import { plainEnvironment, registerPath, runProgram } from '../../corpus/spawn.mjs';
import { providerNotes, seenEnds, startProvider } from './evidence.mjs';
import { readRecorded } from './recorded.mjs';

const program = fileURLToPath(new URL('program.mjs', import.meta.url));
const cli = fileURLToPath(new URL('../../../packages/orangebox/dist/cli.mjs', import.meta.url));
/** Programs that share a directory and a recovery. */
const BATCH = 8;
/** Deaths come within this time after one of the first so many requests, or for one in `EARLY` after the start. */
const SPREAD_MS = 60;
const REQUESTS = 30;
const EARLY = 6;

/** Runs `runs` of them; `kind` is `kill` or `exit`. Returns the sums and what was wrong. */
export async function runDeaths({ kind, runs, lanes = 2, onBatch = () => {} }) {
  const base = mkdtempSync(join(tmpdir(), 'orangebox-deaths-'));
  const sums = { runs: 0, seen: 0, recorded: 0, ended: 0, partial: 0, spans: 0, doubled: 0, torn: 0 };
  const wrong = [];
  let next = 0;
  try {
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        while (next < runs) {
          const from = next;
          const count = Math.min(BATCH, runs - from);
          next += count;
          const dir = join(base, `batch${from}`);
          await oneBatch({ kind, from, count, dir, lane }, sums, wrong);
          rmSync(dir, { recursive: true, force: true });
          onBatch(sums, wrong);
        }
      }),
    );
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
  return { sums, wrong };
}

async function oneBatch({ kind, from, count, dir }, sums, wrong) {
  const notes = mkdtempSync(join(tmpdir(), 'orangebox-deaths-notes-'));
  const files = { provider: join(notes, 'provider'), program: join(notes, 'program') };
  const [provider, receiver] = await Promise.all([startProvider(files.provider), startOtlpReceiver()]);
  const env = { ORANGEBOX_DIR: dir, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
  try {
    for (let i = from; i < from + count; i++) {
      const setup = { url: provider.url, name: `run${i}`, log: files.program };
      const said = kind === 'kill' ? await killed(setup, env, provider) : await exited(setup, env);
      if (said !== undefined) wrong.push(`run ${i}: ${said}`);
      sums.runs += 1;
    }
    const recovered = !existsSync(dir) ? { code: 0 } : await runProgram(cli, ['recover', dir], { preload: false, env });
    if (recovered.code !== 0) wrong.push(`recover: code ${recovered.code} ${recovered.stdout} ${recovered.stderr}`);
    await provider.close();
    const { calls } = providerNotes(files.provider);
    const seen = seenEnds(files.program);
    const facts = { calls, seen, recorded: await readRecorded(dir), spans: receiver.metadataSpans() };
    judge(facts, sums, (text) => wrong.push(`runs ${from} to ${from + count - 1}: ${text}`));
  } finally {
    await receiver.close();
    rmSync(notes, { recursive: true, force: true });
  }
}

const isEarly = () => Math.random() * EARLY < 1;
const moment = () => Math.random() * SPREAD_MS;
const request = () => 1 + Math.floor(Math.random() ** 2 * REQUESTS);

function start(setup, env) {
  return spawn(process.execPath, ['--require', registerPath, program, JSON.stringify(setup)], {
    env: plainEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
}

/** What is wrong with how it ended, if something is. */
async function ending(child, code, signal) {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  const [gotCode, gotSignal] = await new Promise((resolve) => child.on('close', (...how) => resolve(how)));
  if (said !== '') return `it said ${said.slice(0, 500)}`;
  return gotCode === code && gotSignal === signal ? undefined : `it ended with ${gotCode ?? gotSignal}`;
}

function killed(setup, env, { requests }) {
  const child = start(setup, env);
  const soon = () => setTimeout(() => child.kill('SIGKILL'), moment());
  if (isEarly()) child.stdio[3].once('data', soon);
  else requests.once(`${setup.name} ${request()}`, soon);
  return ending(child, null, 'SIGKILL');
}

function exited(setup, env) {
  const exit = { code: Math.floor(Math.random() * 100), afterMs: moment(), atCall: isEarly() ? 0 : request() };
  return ending(start({ ...setup, exit }, env), exit.code, null);
}

/** Compares; adds to the sums and says what is wrong. */
function judge({ calls, seen, recorded, spans }, sums, say) {
  const spansOf = new Map();
  for (const { spanId } of spans) spansOf.set(spanId, (spansOf.get(spanId) ?? 0) + 1);
  for (const text of recorded.unreadable) say(`not readable: ${text}`);
  sums.torn += recorded.torn;
  for (const [id] of calls) {
    sums.seen += 1;
    if (!recorded.calls.has(id)) say(`${id}: lost, though the provider had seen its request`);
  }
  for (const [id, all] of recorded.calls) {
    if (all.length > 1) say(`${id}: ${all.length} times on record`);
    sums.recorded += 1;
    const [{ spanId, bytes, ending: how, fidelity }] = all;
    const sent = calls.get(id)?.sent ?? '';
    if (!sent.startsWith(bytes))
      say(`${id}: ${bytes.length} bytes on record are no beginning of the ${sent.length} sent`);
    if (fidelity.level === 'partial') sums.partial += 1;
    if (seen.has(id)) {
      sums.ended += 1;
      if (bytes !== sent || how !== 'complete') {
        say(`${id}: ended for the program, on record ${how}, ${bytes.length} of ${sent.length} bytes`);
      }
    }
    const count = spansOf.get(spanId) ?? 0;
    if (count === 0) say(`${id}: its span was never exported`);
    else sums.spans += 1;
    if (count > 1) sums.doubled += 1;
    spansOf.delete(spanId);
  }
  for (const [spanId] of spansOf) say(`span ${spanId}: of no call on record`);
}
