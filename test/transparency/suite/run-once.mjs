/** One run of a case's program in a child process, with or without Orangebox, and everything it left. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { plainEnvironment, registerPath } from '../../corpus/spawn.mjs';
import { startOtlpReceiver } from '../../helpers/otlp-receiver.mjs';
import { startServers } from './servers.mjs';

const mainProgram = fileURLToPath(new URL('../program/main.mjs', import.meta.url));

/**
 * Everything goes where it can: segment, payload endpoint, trace endpoint, so that all that Orangebox has is in the process. A
 * case that is `local` records on the machine only, as without any configuration.
 */
const recorderEnvironment = (directory, receiver) => ({
  ORANGEBOX_DIR: directory,
  ORANGEBOX_INCLUDE: '*',
  // A busy machine needs longer than the half second that a program is kept for.
  ORANGEBOX_EXIT_FLUSH_MS: '10000',
  ...(receiver === undefined
    ? {}
    : {
        ORANGEBOX_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_METRICS_EXPORTER: 'none',
      }),
});

/** How the program is started: `main.mjs` with the case, or a program of the case's own. */
function commandOf(row, paths) {
  const { testCase, major } = row;
  const own = testCase.command?.({ ...paths, major });
  const nodeArgs = [...(own?.nodeArgs ?? testCase.nodeArgs ?? [])];
  const loaded = own?.load ?? testCase.load ?? '--require';
  const env = { ...testCase.env, ...own?.env };
  if (paths.preload) {
    if (loaded === 'NODE_OPTIONS') env.NODE_OPTIONS = `${env.NODE_OPTIONS ?? ''} --require ${registerPath}`.trim();
    else nodeArgs.unshift(loaded, loaded === '--import' ? pathToFileURL(registerPath).href : registerPath);
  }
  return { args: [...nodeArgs, ...(own?.args ?? [mainProgram])], env, cwd: own?.cwd };
}

/** What a child said and how it ended; one that takes longer than `limitMs` is killed, and `late`. */
function finished(child, limitMs) {
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => {
      texts[name] += text;
    });
  }
  return new Promise((resolve, reject) => {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      child.kill('SIGKILL');
    }, limitMs);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ ...texts, code, signal, late });
    });
  });
}

/** A port for a program that serves something itself. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Uses a program that serves something, once it says that it is ready, and asks it to end. */
function visitWhenReady(child, testCase, webPort, observations) {
  let text = '';
  let visited = false;
  const see = (label, value) => observations.push(JSON.stringify([label, value]));
  child.stdout.on('data', (part) => {
    text += part;
    if (visited || !testCase.ready.test(text)) return;
    visited = true;
    testCase
      .visit({ webPort, see })
      .catch((error) => see('thrown', String(error.stack)))
      .finally(() => child.kill('SIGTERM'));
  });
}

/**
 * Runs a row once.
 * @returns observations, output and end of the program, the requests its server saw, and with Orangebox where the recording is and
 * what the receiver got. `discard()` removes the recording.
 */
export async function runOnce(row, preload) {
  const { testCase, node } = row;
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-transparency-'));
  const recording = join(directory, 'recording');
  const servers = await startServers(testCase);
  const receiver = preload && testCase.local !== true ? await startOtlpReceiver() : undefined;
  try {
    const observationsFile = join(directory, 'observations');
    const origin = `http://127.0.0.1:${servers.port}`;
    const webPort = testCase.visit === undefined ? undefined : await freePort();
    const paths = { directory, recording, origin, preload, node, webPort, addresses: servers.addresses };
    testCase.prepareRun?.(paths);
    const { args, env, cwd } = commandOf(row, paths);
    const task = {
      file: row.file,
      name: row.name,
      client: row.client,
      whole: row.whole,
      origin,
      addresses: servers.addresses,
      control: servers.control,
      observations: observationsFile,
    };
    const startMs = performance.now();
    const child = spawn(node, args, {
      cwd: cwd ?? directory,
      env: plainEnvironment({
        TRANSPARENCY: JSON.stringify(task),
        OPENAI_API_KEY: 'sk-test',
        ...(preload ? recorderEnvironment(recording, receiver) : {}),
        ...env,
        // Programs that start `node` by its name get the version under test.
        PATH: `${dirname(node)}:${process.env.PATH}`,
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const visits = [];
    if (testCase.visit !== undefined) visitWhenReady(child, testCase, webPort, visits);
    const ended = await finished(child, testCase.limitMs ?? 60_000);
    const milliseconds = performance.now() - startMs;
    const text = existsSync(observationsFile) ? readFileSync(observationsFile, 'utf8') : '';
    return {
      ...ended,
      observations: [...text.split('\n').filter((line) => line !== ''), ...visits],
      milliseconds,
      requests: servers.requests(),
      recording,
      spans: receiver?.metadataSpans() ?? [],
      names: [
        [directory, '<dir>'],
        [`:${servers.port}`, ':<port>'],
        ...(webPort === undefined ? [] : [[`:${webPort}`, ':<port>']]),
        ...Object.values(servers.addresses).map((port) => [`:${port}`, ':<port>']),
      ],
      plain: testCase.plain,
      discard: () => rmSync(directory, { recursive: true, force: true }),
    };
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  } finally {
    await servers.close();
    await receiver?.close();
  }
}
