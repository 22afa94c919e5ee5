/** What is known of calls from outside of the recording: the provider's and the program's notes. */
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { plainEnvironment } from '../../corpus/spawn.mjs';

/** Starts the provider; its notes go to a file. */
export async function startProvider(log) {
  const child = spawn(process.execPath, [fileURLToPath(new URL('provider.mjs', import.meta.url)), log], {
    env: plainEnvironment(),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const requests = new EventEmitter();
  const lines = createInterface({ input: child.stdout });
  const [url] = await once(lines, 'line');
  lines.on('line', (line) => requests.emit(line));
  return {
    url,
    /** Emits `<program> <number>` with each request. */
    requests,
    close: () =>
      new Promise((resolve) => {
        child.on('close', resolve);
        child.stdin.end();
      }),
  };
}

/** Calls of the provider's notes by id: `{sent, isWhole}`. Lines from `offset` on; `offset` is where the next reading begins. */
export function providerNotes(log, offset = 0) {
  const calls = new Map();
  const bytes = readFileSync(log).subarray(offset);
  const end = bytes.lastIndexOf(10) + 1;
  for (const line of bytes.toString('utf8', 0, end).split('\n')) {
    if (line === '') continue;
    const { id, sent, isLast } = JSON.parse(line);
    const known = calls.get(id) ?? { sent: '', isWhole: false };
    if (sent !== undefined) known.sent += sent;
    if (isLast) known.isWhole = true;
    calls.set(id, known);
  }
  return { calls, offset: offset + end };
}

/** Ids of the calls that programs had seen end more than one turn before. */
export function seenEnds(log) {
  return new Set(existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : []);
}
