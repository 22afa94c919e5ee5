/** A program that, in a replay, tries every way out that there is. `WAYS` has the targets. */
import childProcess, { execFileSync } from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import inspector from 'node:inspector';
import net from 'node:net';
import tls from 'node:tls';
import util from 'node:util';
import { SHARE_ENV, Worker } from 'node:worker_threads';

console.log(execFileSync('echo', ['recorded'], { encoding: 'utf8' }));

const failed = (emitter) =>
  new Promise((resolve, reject) => {
    emitter.once('error', reject);
    emitter.once('connect', () => resolve('connected'));
  });
/** It says that it is connected before it looks. */
const broken = (session) => new Promise((_, reject) => session.once('error', reject));
const called = (work) =>
  new Promise((resolve, reject) => work((error, value) => (error ? reject(error) : resolve(value))));
/** What a worker that tries to connect says. */
const byWorker = (target, options) =>
  new Promise((resolve, reject) => {
    const code = `
      const { parentPort } = require('node:worker_threads');
      require('node:net').connect(${target.tcp}, '127.0.0.1')
        .on('error', (error) => parentPort.postMessage(error.code))
        .on('connect', () => parentPort.postMessage('connected'));`;
    const worker = new Worker(code, { eval: true, ...options });
    worker.once('message', (said) => (said === 'ECONNREFUSED' ? reject({ code: said }) : resolve(said)));
    worker.once('error', reject);
  });
const { Worker: WorkerByRequire } = process.getBuiltinModule('node:worker_threads');

const ways = (target) => ({
  'net.connect': () => failed(net.connect(target.tcp, '127.0.0.1')),
  'net.createConnection': () => failed(net.createConnection({ port: target.tcp, host: '127.0.0.1' })),
  'socket.connect': () => failed(new net.Socket().connect(target.tcp, '127.0.0.1')),
  'unix socket': () => failed(net.connect(target.unix)),
  'socket.connect to a unix socket': () => failed(new net.Socket().connect({ path: target.unix })),
  'tls.connect': () => failed(tls.connect(target.tcp, '127.0.0.1')),
  'tls over a socket': () => {
    const socket = new net.Socket();
    const end = failed(socket);
    new tls.TLSSocket(socket.connect(target.tcp, '127.0.0.1'));
    return end;
  },
  'http2.connect': () => broken(http2.connect(`http://127.0.0.1:${target.tcp}`)),
  'http2.connect with options': () => broken(http2.connect(`http://127.0.0.1:${target.tcp}`, { maxSessionMemory: 5 })),
  'datagram.send': () => called((done) => dgram.createSocket('udp4').send('x', target.udp, '127.0.0.1', done)),
  'datagram.connect': () => called((done) => dgram.createSocket('udp4').connect(target.udp, '127.0.0.1', done)),
  'datagram.bind': () => failed(dgram.createSocket('udp4').bind(0)),
  'dns.lookup': () => called((done) => dns.lookup('orangebox.test', done)),
  'dns.lookupService': () => called((done) => dns.lookupService('127.0.0.1', target.tcp, done)),
  'dns.resolve4': () => called((done) => dns.resolve4('orangebox.test', done)),
  'dns.promises.lookupService': () => dns.promises.lookupService('127.0.0.1', target.tcp),
  'Resolver.resolve4': () => called((done) => new dns.Resolver().resolve4('orangebox.test', done)),
  'Resolver.reverse': () => called((done) => new dns.Resolver().reverse('127.0.0.1', done)),
  'promises.Resolver.resolveTxt': () => new dns.promises.Resolver().resolveTxt('orangebox.test'),
  'ChildProcess.spawn without arguments': () =>
    new childProcess.ChildProcess().spawn({ file: target.script, stdio: 'pipe' }),
  'binding process_wrap': () => process.binding('process_wrap'),
  'binding spawn_sync': () => process.binding('spawn_sync'),
  'binding tcp_wrap': () => process.binding('tcp_wrap'),
  'binding udp_wrap': () => process.binding('udp_wrap'),
  'binding pipe_wrap': () => process.binding('pipe_wrap'),
  'binding cares_wrap': () => process.binding('cares_wrap'),
  'linked binding': () => process._linkedBinding('tcp_wrap'),
  'the class of a handle': async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const handle = new server._handle.constructor(0);
    server.close();
    const code = handle.connect({}, '127.0.0.1', target.tcp);
    handle.close();
    if (code < 0) throw { code: util.getSystemErrorName(code) };
    return code;
  },
  'inspector.open': () => inspector.open(0, '127.0.0.1'),
  ...(process.execve ? { 'process.execve': () => process.execve(target.script, [], {}) } : {}),
  'worker with an environment': () => byWorker(target, { env: {} }),
  'worker with options': () => byWorker(target, { execArgv: [] }),
  'worker with both': () => byWorker(target, { env: { A: '1' }, execArgv: ['--no-warnings'] }),
  'worker that shares': () => byWorker(target, { env: SHARE_ENV, execArgv: [] }),
});

/** What speaks HTTP: a request that is not on record ends the replay. */
const clients = {
  fetch: (url) => fetch(url),
  'http.get': (url) => failed(http.get(url)),
  'http.get without an agent': (url) => failed(http.get(url, { agent: false })),
  'http.ClientRequest': (url) => failed(new http.ClientRequest(url).end()),
  WebSocket: (url) =>
    new Promise((_, reject) => new WebSocket(url.replace('http', 'ws')).addEventListener('error', reject)),
};
if (process.env.CLIENT) {
  const [name, url] = process.env.CLIENT.split(' at ');
  await clients[name](url);
}

// A worker that finds nothing of the replay in its environment.
if (process.env.CLEARED) {
  const tcp = Number(process.env.CLEARED);
  for (const name of Object.keys(process.env)) delete process.env[name];
  console.log(await byWorker({ tcp }).catch(({ code }) => code));
}

if (process.env.WAYS) {
  const target = JSON.parse(process.env.WAYS);
  const said = {};
  for (const [name, way] of Object.entries(ways(target))) {
    try {
      said[name] = `went through: ${await way()}`;
    } catch (error) {
      said[name] = error.code;
    }
  }
  said['what nobody is asked for'] = JSON.stringify([
    await util.promisify(dns.lookup)('127.0.0.1'),
    await dns.promises.lookup('localhost', { all: true }),
    await called((done) => dns.lookup('a.localhost', { family: 6 }, done)),
  ]);
  said['the same class'] =
    `${Worker === WorkerByRequire} ${Worker.name} ${Object.create(Worker.prototype) instanceof Worker}`;
  writeFileSync('said', JSON.stringify(said));
}
