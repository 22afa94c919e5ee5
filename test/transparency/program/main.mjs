/**
 * The program that runs one case: it knows nothing of Orangebox. What it is to do stands in `TRANSPARENCY` (JSON): the file and
 * the name of the case, the server's address, and where observations go, a JSON line each.
 */
import { openSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { pathToFileURL } from 'node:url';
import { show } from './show.mjs';

const task = JSON.parse(process.env.TRANSPARENCY);
const file = openSync(task.observations, 'a');

/** Writes down what the program sees: the lines of two runs must be the same, in the same order. */
const observe = (label, value) => {
  writeSync(file, `${JSON.stringify([label, show(value)])}\n`);
};

const requireFrom = (program) => createRequire(new URL(`../../programs/${program}/package.json`, import.meta.url));

/** Imports a package of the suite's own folder, or of another folder of test programs. */
const load = async (name, program = 'transparency') => import(pathToFileURL(requireFrom(program).resolve(name)).href);

/** Asks the runner something over a plain socket, which no tap is on. Loaded modules and HTTP stay as the case has them. */
const ask = (line) =>
  new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(task.control, '127.0.0.1', () => socket.write(`${line}\n`));
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text;
    });
    socket.on('error', reject).on('close', () => resolve(answer));
  });

/** What a case's `run` gets. */
const context = {
  observe,
  load,
  origin: task.origin,
  baseURL: `${task.origin}/v1`,
  addresses: task.addresses,
  client: task.client,
  whole: task.whole,
  /** Tells the server side that something happened here. */
  tell: (what) => ask(`tell ${what}`),
  /** Waits until the server side says that something happened there. */
  until: (what) => ask(`until ${what}`),
  /** Text of a stream's deltas. */
  async texts(stream) {
    const got = [];
    for await (const chunk of stream) got.push(chunk.choices[0]?.delta.content ?? null);
    return got;
  },
  /** Runs something that is expected to fail and observes how. */
  async failing(label, work) {
    try {
      observe(`${label} did not fail`, await work());
    } catch (error) {
      observe(label, error);
    }
  },
  /** An SDK client that talks to the case's provider. */
  async openai(options = {}, name = 'openai', program = 'transparency') {
    const { default: OpenAI } = await load(name, program);
    return new OpenAI({ apiKey: 'sk-test', baseURL: context.baseURL, maxRetries: 0, ...options });
  },
};

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Work in progress while something is sent or looked after: `handles counted` among the programs observes that too. */
const inProgress = ['FSReqPromise', 'FSReqCallback', 'CloseReq', 'ConnectWrap', 'WriteWrap'];
const handles = () => ({
  active: process
    .getActiveResourcesInfo()
    .filter((name) => name !== 'Immediate' && !inProgress.includes(name))
    .sort(),
  handles: process
    ._getActiveHandles()
    .map((handle) => handle.constructor.name)
    .sort(),
});
// Node.js makes these when something first looks at them, which any `pipe()` does.
void [process.stdout.writable, process.stderr.writable];

const { cases } = await import(task.file);
const { run, quiet = false } = cases[task.name];
process.on('exit', (code) => {
  observe('exit', code);
  observe('open at exit', handles());
});
try {
  observe('result', await run(context));
} catch (error) {
  observe('thrown', error);
}
if (!quiet) {
  // Sockets that the case closed are gone after a few turns.
  for (let i = 0; i < 5; i += 1) await turn();
  observe('open at the end', handles());
}
