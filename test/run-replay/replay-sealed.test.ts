/** A replay reaches nobody: no process that it did not start, no server, no name. Evidence is what those saw. */
import { type ChildProcess, spawn } from 'node:child_process';
import dgram from 'node:dgram';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { inRepository } from '../helpers/repository.ts';
import { cleanUp, recordProgram } from './harness.ts';
import { rewriteRecording } from './replay-rewrite.ts';

const running: ChildProcess[] = [];

afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
});
afterAll(cleanUp);

/** A process that has nothing to do with the replay, and says which signals came to it. */
async function startBystander(): Promise<{ pid: number; heard: () => string; isAlive: () => boolean }> {
  const signals = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGINT'];
  const code = `for (const signal of ${JSON.stringify(signals)}) process.on(signal, () => console.log(signal));
    setInterval(() => undefined, 1000); console.log('ready');`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  running.push(child);
  let heard = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    heard += text;
  });
  await once(child.stdout, 'data');
  return {
    pid: child.pid ?? 0,
    heard: () => heard.replace('ready\n', ''),
    isAlive: () => child.exitCode === null && child.signalCode === null,
  };
}

function niceOf(pid: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[16];
}

describe('signals of a replayed program', () => {
  it('to a child are answered as for a child, and reach nobody who has its number', async () => {
    const run = await recordProgram({ file: 'replay-signals.mjs' });
    expect(run.recorded.stdout).toContain('stop: true\n,SIGTERM\nlate probe: ESRCH\n');
    const bystander = await startBystander();
    rewriteRecording(run.directory, (record) => (record.type === 'child' ? { ...record, pid: bystander.pid } : record));
    const again = await run.replay();
    expect(again.stdout).toBe(run.recorded.stdout);
    expect(again.receipt).toMatchObject({ verdict: 'replayed', refused: [] });
    expect(bystander.heard()).toBe('');
    expect(bystander.isAlive()).toBe(true);
  });

  it('to itself by the number on record come to itself', async () => {
    const run = await recordProgram({ file: 'replay-signals.mjs' });
    const bystander = await startBystander();
    rewriteRecording(run.directory, (record) => {
      if (record.type === 'runStart') return { ...record, pid: bystander.pid };
      if (record.type !== 'draws') return record;
      const draws = record.draws.map((draw) =>
        draw.source === 'process.pid' ? { ...draw, value: bystander.pid } : draw,
      );
      return { ...record, draws };
    });
    const again = await run.replay();
    expect(again.stdout).toBe(run.recorded.stdout);
    expect(again.receipt?.verdict).toBe('replayed');
    expect(bystander.heard()).toBe('');
    expect(bystander.isAlive()).toBe(true);
  });

  it('to anybody else are refused, counted and told', async () => {
    const run = await recordProgram({ file: 'replay-signals.mjs' });
    const bystander = await startBystander();
    const before = niceOf(bystander.pid);
    const again = await run.replay({ env: { VICTIM: String(bystander.pid) }, options: ['--in-place'] });
    expect(again.stdout).toBe(run.recorded.stdout);
    expect(readFileSync(join(run.directory, 'said'), 'utf8').split('\n')).toEqual([
      'kill: EPERM',
      'group: EPERM',
      'probe: EPERM',
      'raw: -1',
      'own group: EPERM',
      'everybody: EPERM',
      'priority: EPERM',
      'debugger: EPERM',
      'own priority: undefined',
    ]);
    expect(again.receipt?.refused).toEqual([
      { what: `SIGTERM to process ${bystander.pid}`, count: 2 },
      { what: `SIGTERM to process -${bystander.pid}`, count: 1 },
      { what: `a probe to process ${bystander.pid}`, count: 1 },
      { what: 'SIGTERM to process 0', count: 1 },
      { what: 'SIGTERM to process -1', count: 1 },
      { what: `a priority for process ${bystander.pid}`, count: 1 },
      { what: `a debugger to process ${bystander.pid}`, count: 1 },
    ]);
    expect(again.stderr).toContain(`refused   2 × SIGTERM to process ${bystander.pid}`);
    expect(bystander.heard()).toBe('');
    expect(bystander.isAlive()).toBe(true);
    expect(niceOf(bystander.pid)).toBe(before);
  });
});

/** Ways out, what the program is told, and what the receipt says of it. */
const WAYS: readonly (readonly [way: string, code: string, told: RegExp])[] = [
  ['net.connect', 'ECONNREFUSED', /^connection to 127\.0\.0\.1:PORT$/],
  ['net.createConnection', 'ECONNREFUSED', /^connection to 127\.0\.0\.1:PORT$/],
  ['socket.connect', 'ECONNREFUSED', /^connection to 127\.0\.0\.1:PORT$/],
  ['unix socket', 'ECONNREFUSED', /^connection to .*\/socket$/],
  ['socket.connect to a unix socket', 'ECONNREFUSED', /^connection to .*\/socket$/],
  ['tls.connect', 'ECONNREFUSED', /^connection to 127\.0\.0\.1:PORT$/],
  ['tls over a socket', 'ECONNREFUSED', /^connection to 127\.0\.0\.1:PORT$/],
  ['http2.connect', 'ECONNREFUSED', /^connection to http:\/\/127\.0\.0\.1:PORT$/],
  ['http2.connect with options', 'ECONNREFUSED', /^connection to http:\/\/127\.0\.0\.1:PORT$/],
  ['datagram.send', 'ECONNREFUSED', /^datagram$/],
  ['datagram.connect', 'ECONNREFUSED', /^datagram$/],
  ['datagram.bind', 'ECONNREFUSED', /^datagram$/],
  ['dns.lookup', 'ECONNREFUSED', /^look-up of orangebox\.test$/],
  ['dns.lookupService', 'ECONNREFUSED', /^look-up of 127\.0\.0\.1$/],
  ['dns.resolve4', 'ECONNREFUSED', /^look-up of orangebox\.test$/],
  ['dns.promises.lookupService', 'ECONNREFUSED', /^look-up of 127\.0\.0\.1$/],
  ['Resolver.resolve4', 'ECONNREFUSED', /^look-up of orangebox\.test$/],
  ['Resolver.reverse', 'ECONNREFUSED', /^look-up of 127\.0\.0\.1$/],
  ['promises.Resolver.resolveTxt', 'ECONNREFUSED', /^look-up of orangebox\.test$/],
  ['ChildProcess.spawn without arguments', 'EPERM', /^process .*\/script$/],
  ['binding process_wrap', 'EPERM', /^binding process_wrap$/],
  ['binding spawn_sync', 'EPERM', /^binding spawn_sync$/],
  ['binding tcp_wrap', 'EPERM', /^binding tcp_wrap$/],
  ['binding udp_wrap', 'EPERM', /^binding udp_wrap$/],
  ['binding pipe_wrap', 'EPERM', /^binding pipe_wrap$/],
  ['binding cares_wrap', 'EPERM', /^binding cares_wrap$/],
  ['linked binding', 'EPERM', /^binding tcp_wrap$/],
  ['the class of a handle', 'EACCES', /^connection to 127\.0\.0\.1:PORT$/],
  ['inspector.open', 'EPERM', /^a debugger that listens$/],
  ...('execve' in process ? [['process.execve', 'EPERM', /^process .*\/script$/] as const] : []),
  ['worker with an environment', 'ECONNREFUSED', /^connection to 127\.0\.0\.1:PORT$/],
  ['worker with options', 'ECONNREFUSED', /^connection to 127\.0\.0\.1:PORT$/],
  ['worker that shares', 'ECONNREFUSED', /^connection to 127\.0\.0\.1:PORT$/],
  ['worker with both', 'ECONNREFUSED', /^connection to 127\.0\.0\.1:PORT$/],
];

describe('ways out of a replayed program', () => {
  it('are all closed, told to the program as errors, counted, and reach nobody', async () => {
    const run = await recordProgram({ file: 'replay-ways-out.mjs' });
    const reached: string[] = [];
    const tcp = net.createServer((socket) => void (reached.push('tcp'), socket.destroy())).listen(0, '127.0.0.1');
    const unixPath = join(run.directory, 'socket');
    const unix = net.createServer((socket) => void (reached.push('unix'), socket.destroy())).listen(unixPath);
    const udp = dgram.createSocket('udp4', () => void reached.push('udp')).bind(0, '127.0.0.1');
    await Promise.all([once(tcp, 'listening'), once(unix, 'listening'), once(udp, 'listening')]);
    const made = join(run.directory, 'made');
    const script = join(run.directory, 'script');
    writeFileSync(script, `#!/bin/sh\ntouch ${made}\n`, { mode: 0o755 });
    const { port } = tcp.address() as net.AddressInfo;
    try {
      const targets = { tcp: port, unix: unixPath, udp: udp.address().port, script };
      const again = await run.replay({ env: { WAYS: JSON.stringify(targets) }, options: ['--in-place'] });
      expect(again.stderr).toContain('refused');
      const said = JSON.parse(readFileSync(join(run.directory, 'said'), 'utf8')) as { [way: string]: string };
      expect(WAYS.map(([way]) => `${way}: ${said[way]}`)).toEqual(WAYS.map(([way, code]) => `${way}: ${code}`));
      expect(JSON.parse(said['what nobody is asked for'] ?? '')).toEqual([
        { address: '127.0.0.1', family: 4 },
        [{ address: '127.0.0.1', family: 4 }],
        '::1',
      ]);
      expect(said['the same class']).toBe('true Worker true');
      const told = (again.receipt?.refused ?? []).map(({ what }) => what.replace(String(port), 'PORT'));
      for (const [, , what] of WAYS) expect(told).toContainEqual(expect.stringMatching(what));
      expect(again.receipt).toMatchObject({ liveConnections: 0, processes: { started: 0 } });
      expect(existsSync(made)).toBe(false);
      expect(reached).toEqual([]);
    } finally {
      tcp.close();
      unix.close();
      udp.close();
    }
  });

  it('of clients of HTTP end in the verdict, and reach nobody either', async () => {
    const run = await recordProgram({ file: 'replay-ways-out.mjs' });
    const reached: string[] = [];
    const server = http.createServer((request) => void reached.push(String(request.url))).listen(0, '127.0.0.1');
    server.on('connection', () => void reached.push('connection'));
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
    const names = ['fetch', 'http.get', 'http.get without an agent', 'http.ClientRequest', 'WebSocket'];
    try {
      for (const name of names.filter((one) => one !== 'WebSocket' || 'WebSocket' in globalThis)) {
        const again = await run.replay({ env: { CLIENT: `${name} at ${url}` } });
        // A request that no tap sees gets no answer: the program waits for nothing, and ends.
        const isSeen = name !== 'http.ClientRequest' || again.code === 10;
        expect([name, again.code]).toEqual([name, isSeen ? 10 : 11]);
      }
      expect(reached).toEqual([]);
    } finally {
      server.close();
    }
  });

  it('of a worker whose environment was cleared are closed too', async () => {
    const run = await recordProgram({ file: 'replay-ways-out.mjs' });
    let reached = 0;
    const server = net.createServer(() => void reached++).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as net.AddressInfo;
      const again = await run.replay({ env: { CLEARED: String(port) } });
      expect(again.stderr).toContain('nothing is on record of thread 1');
      expect(again.code).toBe(4);
      expect(reached).toBe(0);
    } finally {
      server.close();
    }
  });
});

describe('a replay beside a preload of the user', () => {
  it('is there before it, and before an Orangebox that would record', async () => {
    const run = await recordProgram({ file: 'replay-hostile.mjs' });
    const preload = join(run.directory, 'first.cjs');
    // What it takes hold of is closed already.
    writeFileSync(
      preload,
      `const { connect } = require('node:net');
       process.on('exit', () => connect(9, '127.0.0.1').on('error', () => undefined));`,
    );
    const register = inRepository('packages/orangebox/dist/register.cjs');
    const NODE_OPTIONS = `--require ${register} --require ${preload}`;
    const again = await run.replay({ env: { NODE_OPTIONS } });
    expect(again.receipt).toMatchObject({ served: 2, liveConnections: 0, processes: { served: 2, started: 0 } });
    expect(again.receipt?.refused).toContainEqual({ what: 'connection to 127.0.0.1:9', count: 1 });
  });
});
