/**
 * `npm run demo`: an agent program that knows nothing of Orangebox runs against a bundled provider, is recorded, listed, shown,
 * replayed offline and resent, all by what people install. Ends with an error when anything is not as it should be.
 */
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { snapshotsIn } from '../corpus/snapshots.mjs';
import { plainEnvironment, registerPath } from '../corpus/spawn.mjs';
import { decodeBody } from '@orangebox/codec';
import { startProvider } from '../fixtures/provider/server.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const recording = join(here, '.orangebox');
const cli = join(root, 'packages/orangebox/dist/cli.mjs');
const key = 'sk-demo-not-a-real-key-0123456789';
const onTerminal = process.stdout.isTTY === true;
const style = (code, text) => (onTerminal ? `\u001b[${code}m${text}\u001b[0m` : text);
const failures = [];

const title = (text) => console.log(`\n${style('1;33', `▌ ${text}`)}\n`);
const say = (text) => console.log(style('2', text));

/** Runs a Node program here, shows what it prints and gives its output; `direct` leaves it the terminal instead. */
function run(args, { env = {}, shown = true, direct = false, command } = {}) {
  if (command !== undefined) console.log(style('36', `$ ${command}`));
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: here,
      env: plainEnvironment({ ORANGEBOX_DIR: recording, ...(onTerminal && { FORCE_COLOR: '1' }), ...env }),
      stdio: ['ignore', direct ? 'inherit' : 'pipe', direct ? 'inherit' : 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (shown && !direct) process.stdout.write(`${(stdout + stderr).trimEnd().replace(/^/gm, '  ')}\n`);
      resolve({ code, stdout, stderr });
    });
  });
}

const orangebox = (args, options = {}) =>
  run([cli, ...args], { command: `npx orangebox ${args.join(' ')}`, direct: onTerminal, ...options });

function check(label, ok, detail = '') {
  console.log(`${ok ? style('32', '✓') : style('31', '✗')} ${label}${ok || detail === '' ? '' : `: ${detail}`}`);
  if (!ok) failures.push(label);
}

/** The agent, with or without the preload, against a base URL. */
const agent = (baseUrl, { preload, shown = true, command }) =>
  run([...(preload ? ['--require', registerPath] : []), join(here, 'agent.mjs')], {
    env: { OPENAI_API_KEY: key, OPENAI_BASE_URL: baseUrl },
    shown,
    command,
  });

/** Starts `orangebox replay … --serve` and gives its base URL and a way to end it. */
function serve(reference) {
  const args = ['replay', reference, '--serve', '--json'];
  console.log(style('36', `$ npx orangebox ${args.join(' ')}`));
  const child = spawn(process.execPath, [cli, ...args], {
    cwd: here,
    env: plainEnvironment({ ORANGEBOX_DIR: recording }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => reject(new Error(`replay --serve ended with ${code}`)));
    child.stdout.setEncoding('utf8').once('data', (line) => {
      const stop = async () => {
        child.kill('SIGINT');
        await ended;
      };
      resolve({ baseUrl: JSON.parse(line).baseUrl, stop });
    });
  });
}

const shortPath = (path) => relative(process.cwd(), path) || '.';

rmSync(recording, { recursive: true, force: true });
// The third request is refused once with 429, so that the SDK retries it.
const provider = await startProvider({ script: 'status=429,nth=3,retry-after-ms=50' });
const baseUrl = `${provider.url}/v1`;

title('1  An agent runs, recorded. Nothing in its code knows about it.');
const first = await agent(baseUrl, {
  preload: true,
  command: `node --require orangebox/register ${shortPath(join(here, 'agent.mjs'))}`,
});
check('the agent ended well', first.code === 0, first.stderr);

title('2  What was recorded');
await orangebox(['ls', '--table'], { command: 'npx orangebox ls' });
const calls = [];
let tools = 0;
for await (const { entry, snapshot } of snapshotsIn(recording)) {
  if (snapshot.kind === 'llm') calls.push({ entry, snapshot });
  if (snapshot.kind === 'tool') tools += 1;
}
const exchanges = calls.flatMap(({ snapshot }) => snapshot.exchanges);
check(
  `${provider.requests.length} requests were ${calls.length} calls, one of them with two attempts`,
  exchanges.length === provider.requests.length && calls.some(({ snapshot }) => snapshot.exchanges.length === 2),
);
const same = exchanges.filter((exchange, i) => {
  const { body, sent } = provider.requests[i] ?? { body: Buffer.alloc(0), sent: Buffer.alloc(0) };
  if (exchange.response === undefined || !Buffer.from(decodeBody(exchange.request.body)).equals(body)) return false;
  const recorded = Buffer.from(decodeBody(exchange.response.body));
  // The SDK lets go of an answer that it will retry: of that one, what came until then is on record.
  const came = exchange.ending === 'caller_stopped_reading' ? sent.subarray(0, recorded.length) : sent;
  return recorded.equals(came);
});
check(
  `bytes on record equal to those the provider got and sent: ${same.length} of ${exchanges.length} exchanges`,
  same.length === exchanges.length && exchanges.length > 0,
);
check(`${tools} tool executions, read from the calls`, tools === 4, String(tools));
const files = JSON.stringify(calls.map(({ snapshot }) => snapshot));
check('the API key is nowhere in the recording', !files.includes(key));

title('3  The last call, as a conversation');
await orangebox(['show', 'last']);

title('4  The provider goes away. The recording answers instead.');
const retried = calls.find(({ snapshot }) => snapshot.exchanges.length === 2) ?? calls[0];
const requestsBefore = provider.requests.length;
const replayed = await orangebox(['replay', retried?.entry.ref ?? 'last']);
check('one call, replayed offline through the real SDK', replayed.code === 0);
const served = await serve(calls[0]?.snapshot.session?.id ?? 'last');
const second = await agent(served.baseUrl, {
  preload: false,
  shown: false,
  command: `OPENAI_BASE_URL=${served.baseUrl} node ${shortPath(join(here, 'agent.mjs'))}`,
});
await served.stop();
check(
  'the whole agent, run again offline, saw and said the same',
  second.code === 0 && second.stdout === first.stdout,
  second.stderr || second.stdout,
);
check('nothing reached the provider', provider.requests.length === requestsBefore);

title('5  One call, sent again, live');
const last = calls.at(-1)?.entry.ref ?? 'last';
const resent = await orangebox(['resend', last, '--base-url', `${provider.url}/v1`, '--yes'], {
  env: { OPENAI_API_KEY: key },
});
check('resent and compared', resent.code === 0);
const original = provider.requests[requestsBefore - 1];
const again = provider.requests.at(-1);
check(
  'byte for byte the same request body',
  again !== original && again?.body.equals(original?.body ?? Buffer.alloc(0)) === true,
);
await provider.close();

title('What you just saw');
say(
  'A program with the openai package was started with one extra flag. Each call it made, with its retry, and each tool it',
);
say(
  'ran is on record byte for byte, without the key. The recording alone answered the same program again, and one call went',
);
say('out once more to see whether the model still says the same.');
console.log(`
The recording is in ${shortPath(recording)}. Next:
  ${style('36', `cd ${shortPath(here)}`)}
  ${style('36', 'npx orangebox')}                         what is on record, and what to do with it
  ${style('36', 'npx orangebox show last --http')}        the last call as HTTP, to the byte
  ${style('36', 'npx orangebox ls --tool get_weather')}   calls that asked for a tool
In a service of your own: ${style('36', 'node --require orangebox/register app.js')}
`);
if (failures.length > 0) {
  console.error(`the demo found ${failures.length} thing(s) wrong: ${failures.join('; ')}`);
  process.exitCode = 1;
}
