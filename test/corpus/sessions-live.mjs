/** The sessions part of the corpus run: multi-call sessions through a real recorder, one after the other and 20 at a time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXCHANGE_HEADER } from './exchange.mjs';
import { loadCorpus } from './load.mjs';
import { startCorpusServer } from './server.mjs';
import { checkSessions, expectedSessions, unmaskIds } from './sessions.mjs';
import { snapshotsIn } from './snapshots.mjs';
import { runProgram } from './spawn.mjs';
import { table } from './table.mjs';

const here = dirname(fileURLToPath(import.meta.url));

const numberOf = ({ exchanges }) =>
  Number(exchanges[0]?.request.headers.find(([name]) => name === EXCHANGE_HEADER)?.[1] ?? -1);

async function runWidth(sessions, exchanges, directory, width) {
  const server = await startCorpusServer(exchanges);
  const store = mkdtempSync(join(tmpdir(), 'orangebox-sessions-'));
  try {
    const program = await runProgram(join(here, 'sessions-client.mjs'), [server.url, String(width), directory], {
      env: { ORANGEBOX_DIR: store },
    });
    if (program.code !== 0) throw new Error(`the program ended with ${program.code}: ${program.stderr}`);
    const sessionOf = new Map();
    const numberOfSpan = new Map();
    const tools = [];
    const traces = new Map();
    for await (const { snapshot } of snapshotsIn(store)) {
      if (snapshot.kind === 'tool') {
        if (snapshot.tool.basis === 'inferred') tools.push(snapshot.tool);
        continue;
      }
      const n = numberOf(snapshot);
      sessionOf.set(n, snapshot.session?.id);
      numberOfSpan.set(snapshot.id, n);
      traces.set(snapshot.session?.id, (traces.get(snapshot.session?.id) ?? new Set()).add(snapshot.trace.traceId));
    }
    const joined = tools.map(({ callId, askedBy }) => ({ callId, askedBy: numberOfSpan.get(askedBy) }));
    const result = checkSessions(sessions, sessionOf, joined);
    const sessionsInSeveralTraces = [...traces.values()].filter((ids) => ids.size > 1).length;
    return { width, calls: sessionOf.size, ...result, toolsMade: tools.length, sessionsInSeveralTraces };
  } finally {
    await server.close();
    rmSync(store, { recursive: true, force: true });
  }
}

/** Runs both orders; each result has what {@link checkSessions} says. */
export async function runSessions(directory) {
  const exchanges = loadCorpus(directory);
  const sessions = expectedSessions(exchanges);
  unmaskIds(sessions);
  const results = [];
  for (const width of [1, 20]) results.push(await runWidth(sessions, exchanges, directory, width));
  return results;
}

/**
 * Whether a result reaches the goals: every tool result joined, 99 % of the sessions together, none merged wrongly. Side by side, two
 * of the recorded sessions are the same byte for byte up to the tool result: those are kept apart as ambiguous, rightly.
 */
export const sessionsPassed = (r) =>
  r.toolResultsMissed.length <= (r.width === 1 ? 0 : 2) &&
  r.togetherRight >= 0.99 * r.linkedSessions &&
  r.mergedWrongly.length === 0;

export const sessionsTable = (results) =>
  table([
    [
      'sessions at a time',
      'calls',
      'linked sessions',
      'together',
      'merged wrongly',
      'tool results',
      'inferred',
      'in several traces',
    ],
    ...results.map((r) => [
      r.width,
      r.calls,
      r.linkedSessions,
      r.togetherRight,
      r.mergedWrongly.length,
      r.toolResults,
      r.toolResultsJoined,
      r.sessionsInSeveralTraces,
    ]),
  ]);
