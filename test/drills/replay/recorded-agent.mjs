/** Records a program against the local provider, then replays it with nobody there, and says what came out otherwise. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { plainEnvironment } from '../../corpus/spawn.mjs';
import { startProvider } from '../../fixtures/provider/server.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const cli = join(root, 'packages/orangebox/dist/cli.mjs');

/** Where a copy was left, and the directory of the replay that it is in. */
const KEPT = /: ((.*[/\\]orangebox-replay-[^/\\]+)[/\\].*)$/;

/** Ends a replay that hangs; it counts as a failure. */
const LONGEST_MS = 120_000;

/** Runs the command to its end. */
function orangebox(args, cwd, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [cli, ...args], {
      cwd,
      env: plainEnvironment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LONGEST_MS,
      killSignal: 'SIGKILL',
    });
    const bytes = { stdout: [], stderr: [] };
    for (const name of ['stdout', 'stderr']) child[name].on('data', (piece) => bytes[name].push(piece));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const [stdout, stderr] = [bytes.stdout, bytes.stderr].map((list) => Buffer.concat(list).toString('utf8'));
      resolve({ code, signal, stdout, stderr });
    });
  });
}

/** What the program wrote beside itself, by name. */
function filesIn(directory, placed) {
  const names = readdirSync(directory).filter((name) => !placed.has(name));
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
}

const sha256 = (value) => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** A digest of all that a run showed: output, errors, exit code, files. The order of events is in it where a program prints it. */
const digestOf = ({ stdout, own, exitCode, files }) => sha256([stdout, own, exitCode, files]);

/** Somebody who listens where the provider was, and counts who comes. */
async function bystander(port) {
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    socket.destroy();
  });
  await new Promise((resolve, reject) => void server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return { visits: () => count, close: () => new Promise((resolve) => void server.close(resolve)) };
}

/**
 * Records an agent of `agents.mjs`.
 * @returns the run; `replay()` gives what came out, `differences(replayed)` names what is not as recorded, `remove()` ends it
 */
export async function recordAgent({ file, packages, script = '', args = [], env: extra = {} }) {
  const directory = mkdtempSync(join(tmpdir(), 'obx-agent-'));
  const entry = basename(file);
  cpSync(join(root, 'test/run-replay/programs', file), join(directory, entry));
  const modules = packages === undefined ? 'node_modules' : `test/programs/${packages}/node_modules`;
  symlinkSync(join(root, modules), join(directory, 'node_modules'));
  const placed = new Set(['.orangebox', entry, 'node_modules']);
  const provider = await startProvider({ script });
  const env = {
    OPENAI_API_KEY: 'sk-agent-0123456789abcdefghij',
    OPENAI_BASE_URL: provider.baseUrl,
    ANTHROPIC_API_KEY: 'sk-ant-agent-0123456789abcdefghij',
    ANTHROPIC_BASE_URL: provider.url,
    ...extra,
  };
  const command = [process.execPath, entry, ...args];
  const result = await orangebox(['run', '--replayable', '--', ...command], directory, env);
  await provider.close();
  const somebody = await bystander(Number(new URL(provider.url).port));
  const lines = result.stderr.split('\n');
  const said = lines.filter((line) => line.startsWith('orangebox '));
  const own = lines.filter((line) => !line.startsWith('orangebox ')).join('\n');
  const runId = /recorded (run-[0-9a-f]{12})/.exec(result.stderr)?.[1] ?? '';
  const recorded = { ...result, own, exitCode: result.code, files: filesIn(directory, placed) };
  const digest = digestOf(recorded);

  async function replay(options = []) {
    const receiptFile = join(directory, '.orangebox/receipt.json');
    rmSync(receiptFile, { force: true });
    const words = ['replay', runId, '--receipt', receiptFile, '--keep', ...options, '--', ...command];
    const startMs = performance.now();
    const again = await orangebox(words, directory, env);
    const milliseconds = performance.now() - startMs;
    const end = again.stderr.search(/^(?:not )?replayed/m);
    let receipt;
    try {
      receipt = JSON.parse(readFileSync(receiptFile, 'utf8'));
    } catch {
      // Its absence is told.
    }
    const exitCode = Number(receipt?.outcome.find(({ name }) => /exit/.test(name))?.live ?? Number.NaN);
    const ownAgain = end < 0 ? again.stderr : again.stderr.slice(0, end);
    // It ran in a copy of the directory, as it was before the program wrote anything.
    const copy = receipt?.files?.notes.map((note) => KEPT.exec(note)).find((match) => match !== null);
    const files = copy === undefined ? {} : filesIn(copy[1], placed);
    if (copy !== undefined) rmSync(copy[2], { recursive: true, force: true });
    const shown = { ...again, own: ownAgain, exitCode, files, receipt, milliseconds };
    return { ...shown, digest: digestOf(shown) };
  }

  function differences({ stdout, own: ownAgain, exitCode, files, receipt, code, stderr, signal }) {
    const found = [];
    if (signal !== null) found.push(`ended by ${signal}`);
    if (code !== 0 || receipt?.verdict !== 'replayed') found.push(`verdict ${receipt?.verdict} (${code}): ${stderr}`);
    if (stdout !== recorded.stdout) found.push(`stdout: ${firstDifference(recorded.stdout, stdout)}`);
    if (ownAgain !== recorded.own) found.push(`stderr: ${firstDifference(recorded.own, ownAgain)}`);
    if (exitCode !== recorded.exitCode) found.push(`exit code ${exitCode}, not ${recorded.exitCode}`);
    const names = new Set([...Object.keys(recorded.files), ...Object.keys(files)]);
    for (const name of names) {
      if (recorded.files[name] === files[name]) continue;
      found.push(`file ${name}: ${firstDifference(recorded.files[name] ?? '', files[name] ?? '')}`);
    }
    const left = filesIn(directory, placed);
    if (sha256(left) !== sha256(recorded.files)) found.push(`written beside the copy: ${Object.keys(left).join(', ')}`);
    if (receipt?.liveConnections !== 0) found.push(`${receipt?.liveConnections} connections`);
    if (receipt?.processes.started !== 0) found.push(`${receipt?.processes.started} processes started`);
    if (somebody.visits() > 0) found.push(`${somebody.visits()} connections reached the provider's place`);
    return found;
  }

  async function remove() {
    await somebody.close();
    rmSync(directory, { recursive: true, force: true });
  }

  const requests = provider.requests.length;
  return { directory, runId, recorded, said, requests, digest, replay, differences, remove };
}

/** Where two texts first differ, shown. */
function firstDifference(recorded, live) {
  let at = 0;
  while (at < recorded.length && recorded[at] === live[at]) at += 1;
  const around = (text) => JSON.stringify(text.slice(Math.max(0, at - 40), at + 80));
  return `at ${at} of ${recorded.length}: ${around(recorded)} became ${around(live)}`;
}
