/** The SDK part of the corpus run: the same calls through the real SDK with and without the preload; everything seen must be equal. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMadeUp } from './exchange.mjs';
import { sdkCallOf } from './sdk-call.mjs';
import { startCorpusServer } from './server.mjs';
import { callSnapshotsIn } from './snapshots.mjs';
import { runProgram } from './spawn.mjs';
import { share, table } from './table.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const programs = join(here, '../programs');

/** SDK versions: the workspace's own whole, older ones by samples. `from` is a file whose folder resolves the package. */
export const sdkVersions = [
  { from: join(here, '../../package.json'), every: 1 },
  { from: join(programs, 'openai-5/package.json'), every: 6 },
  { from: join(programs, 'openai-4/package.json'), every: 6 },
];

/** Version of the SDK that a file resolves; undefined when it is not installed. */
export function sdkVersion(from) {
  for (let directory = dirname(from); ; directory = dirname(directory)) {
    const manifest = join(directory, 'node_modules/openai/package.json');
    if (existsSync(manifest)) return JSON.parse(readFileSync(manifest, 'utf8')).version;
    // A test program without its own SDK is not installed; the workspace's is not meant.
    if (directory === dirname(directory) || existsSync(join(directory, 'package-lock.json'))) return undefined;
  }
}

const readLines = (file) => {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n').filter(Boolean);
  return new Map(lines.map((line) => [JSON.parse(line).n, line]));
};

/**
 * Runs the calls of one SDK version twice.
 * @param onSnapshots gets the recording's directory and the results with the preload, before it is deleted
 */
export async function runSdkVersion({ from, every, node }, exchanges, { directory, limit = 0, onRecording } = {}) {
  const work = mkdtempSync(join(tmpdir(), 'orangebox-sdk-'));
  const server = await startCorpusServer(exchanges);
  try {
    const run = async (preload) => {
      const output = join(work, `${preload}.jsonl`);
      const args = [server.url, directory ?? '', output, from, String(every), String(limit)];
      const env = { ORANGEBOX_DIR: join(work, 'recording'), ORANGEBOX_DIR_BYTES: String(4 * 2 ** 30) };
      const program = await runProgram(join(here, 'sdk-client.mjs'), args, { preload, env, ...(node && { node }) });
      if (program.code !== 0) throw new Error(`the program ended with ${program.code}: ${program.stderr}`);
      return { lines: readLines(output), stderr: program.stderr };
    };
    const without = await run(false);
    const before = server.log.length;
    const recorded = await run(true);
    const requests = server.log.length - before;
    const failures = [];
    let equal = 0;
    let events = 0;
    for (const [n, line] of without.lines) {
      const other = recorded.lines.get(n);
      if (line === other) {
        equal += 1;
        events += JSON.parse(line).value?.events?.length ?? 0;
      } else failures.push({ id: exchanges[n].id, without: line.slice(0, 300), with: other?.slice(0, 300) });
    }
    let snapshots = 0;
    for await (const { snapshot } of callSnapshotsIn(join(work, 'recording'))) snapshots += snapshot.exchanges.length;
    if (snapshots !== requests) failures.push({ requests, recordedExchanges: snapshots });
    if (recorded.stderr !== without.stderr) failures.push({ stderr: recorded.stderr });
    await onRecording?.(join(work, 'recording'), recorded.lines);
    return { calls: without.lines.size, equal, events, requests, snapshots, failures };
  } finally {
    await server.close();
    rmSync(work, { recursive: true, force: true });
  }
}

/** Why exchanges of these APIs were not sent, with counts. */
function exceptionsOf(exchanges) {
  const reasons = new Map();
  for (const exchange of exchanges) {
    const reason = sdkCallOf(exchange)?.skip;
    if (reason !== undefined) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return [...reasons].map(([reason, count]) => ({ reason, count }));
}

/** Runs all SDK versions that are installed; gives the figures. */
export async function runSdk(exchanges, { limit = 0, directory, versions = sdkVersions } = {}) {
  const figures = [];
  for (const version of versions) {
    const number = sdkVersion(version.from);
    if (number === undefined) continue;
    const result = await runSdkVersion(version, exchanges, { directory, limit });
    const sendable = exchanges.filter((e) => sdkCallOf(e) !== undefined && sdkCallOf(e).skip === undefined);
    figures.push({
      label: `openai ${number}${version.label ?? ''}`,
      ...result,
      sendable: sendable.length,
      madeUpRequests: sendable.filter(isMadeUp).length,
      exceptions: exceptionsOf(exchanges),
    });
  }
  return figures;
}

/** The figures as a table. */
export function sdkTable(figures) {
  return table([
    ['SDK', ...figures.map((f) => f.label)],
    ['calls sent', ...figures.map((f) => share(f.calls, f.sendable))],
    ['all that the program saw equal', ...figures.map((f) => share(f.equal, f.calls))],
    ['stream events equal', ...figures.map((f) => f.events)],
    ['exchanges on record', ...figures.map((f) => share(f.snapshots, f.requests))],
  ]);
}
