/**
 * The container engine of the lane. Any that answers is used; in CI, where both lanes are demanded, one is installed and started where
 * none does, and ended again. As vitest's `globalSetup` it does so around all tests and says in one line what it found.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('docker-engine.sh', import.meta.url));
const demanded = (env) => env.CI === 'true';

function candidates(env) {
  const own = `unix://${env.DOCKER_LANE_DIR ?? '/tmp/docker-lane'}/docker.sock`;
  return [env.DOCKER_HOST, 'unix:///var/run/docker.sock', own].filter(Boolean);
}

/** Whether an engine answers at a socket or TCP host; loads no client for it. */
function answers(host, timeoutMs = 1000) {
  const url = new URL(host);
  if (url.protocol === 'unix:' && !existsSync(url.pathname)) return Promise.resolve(false);
  const where =
    url.protocol === 'unix:' ? { socketPath: url.pathname } : { host: url.hostname, port: url.port || 2375 };
  return new Promise((resolve) => {
    const asked = request({ ...where, path: '/_ping', timeout: timeoutMs }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(false));
    asked.end();
  });
}

/**
 * Finds an engine and sets what testcontainers reads when it is loaded, so call it before. Gives the engine's address, or undefined
 * where none answers.
 */
export async function findEngine(env = process.env) {
  for (const host of candidates(env)) {
    if (!(await answers(host))) continue;
    env.DOCKER_HOST = host;
    // Its image cannot be pulled; what a killed run leaves is removed by the next one.
    env.TESTCONTAINERS_RYUK_DISABLED ??= 'true';
    // A /.dockerenv on this machine, or localhost as ::1, would mislead it.
    env.TESTCONTAINERS_HOST_OVERRIDE ??= '127.0.0.1';
    return host;
  }
  return undefined;
}

/** Ends containers and networks of test processes that are gone: killed ones leave them, and those that live still need theirs. */
function sweep() {
  const lines = (...args) => spawnSync('docker', args, { encoding: 'utf8' }).stdout?.split('\n').filter(Boolean) ?? [];
  const isGone = (pid) => {
    try {
      process.kill(Number(pid), 0);
      return false;
    } catch (error) {
      return error.code === 'ESRCH';
    }
  };
  const containers = lines(
    'ps',
    '-a',
    '--filter',
    'label=orangebox.lane.pid',
    '--format',
    '{{.ID}} {{.Label "orangebox.lane.pid"}}',
  );
  for (const [id, pid] of containers.map((line) => line.split(' '))) if (isGone(pid)) lines('rm', '-fv', id);
  const networks = lines('network', 'ls', '--filter', 'name=^orangebox-lane-', '--format', '{{.Name}}');
  for (const name of networks) if (isGone(name.split('-').at(-1))) lines('network', 'rm', name);
}

let started = false;

/** vitest's: starts an engine where one is demanded and none answers. */
export async function setup() {
  if ((await findEngine()) === undefined && demanded(process.env)) {
    try {
      execFileSync('sh', [script, 'up', '--install'], { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
      started = true;
    } catch (error) {
      console.log(`container lane: no engine could be started\n${String(error.stderr ?? error).slice(-2000)}`);
    }
  }
  if ((await findEngine()) !== undefined) sweep();
  else if (!demanded(process.env)) console.log('container lane: no container engine answers, so its tests are skipped');
}

/** vitest's: ends what `setup` started, and nothing else. */
export async function teardown() {
  if ((await findEngine()) === undefined) return;
  sweep();
  if (started) execFileSync('sh', [script, 'down'], { stdio: 'ignore' });
}
