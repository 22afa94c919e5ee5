/** Whole programs, started as people start them. What they print is what they saw. */
import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const app = (name) => fileURLToPath(new URL(`apps/${name}.mjs`, import.meta.url));
const root = fileURLToPath(new URL('../../../..', import.meta.url));
const packages = join(root, 'test/programs/transparency');
const bundles = join(root, '.cache/transparency');

const providerEnv = (origin) => ({ OPENAI_BASE_URL: `${origin}/v1` });

/** A program of the suite's own, with flags of Node.js and arguments. */
const program = (name, { args = [], nodeArgs = [], load } = {}) => ({
  command: ({ origin }) => ({ args: [app(name), ...args], nodeArgs, env: providerEnv(origin), ...(load && { load }) }),
});

let bundled;

/** The agent with the SDK in one file, as CommonJS and as an ES module. */
const bundle = () => {
  bundled ??= (async () => {
    const { build } = createRequire(join(packages, 'package.json'))('esbuild');
    mkdirSync(bundles, { recursive: true });
    for (const [format, extension] of [
      ['esm', 'mjs'],
      ['cjs', 'cjs'],
    ]) {
      await build({
        // CommonJS has no `await` at its top.
        stdin: {
          contents: `import OpenAI from 'openai';\nvoid (async () => {${await agentBody()}})();`,
          resolveDir: packages,
        },
        bundle: true,
        minify: true,
        platform: 'node',
        target: 'node20',
        format,
        outfile: join(bundles, `agent.${extension}`),
      });
    }
  })();
  return bundled;
};

async function agentBody() {
  const { readFileSync } = await import('node:fs');
  return readFileSync(app('agent'), 'utf8').replace(/^import .*$/m, '');
}

const bundleCase = (extension) => ({
  prepare: bundle,
  command: ({ origin }) => ({ args: [join(bundles, `agent.${extension}`)], env: providerEnv(origin) }),
});

/** Node.js' permission model under its flag of this version; from 25 on it holds for the network too. */
const permissionArgs = (major, writable) => [
  major < 22 ? '--experimental-permission' : '--permission',
  '--allow-fs-read=*',
  ...(writable ?? []).map((path) => `--allow-fs-write=${path}`),
  ...(major >= 25 ? ['--allow-net'] : []),
];

const ending = (how, expected) => ({
  ...program('endings', { args: [how] }),
  natural: how === 'exitCode' || how === 'natural',
  ...expected,
});

const standalone = join(root, 'test/lanes/nodes/next/.cache/next/standalone/server.js');

export const cases = {
  'an esbuild bundle, CommonJS': { ...bundleCase('cjs'), sample: true },
  'an esbuild bundle, ES module': bundleCase('mjs'),
  'a cluster as pm2 starts one': { ...program('cluster', { load: 'NODE_OPTIONS' }), natural: false, sample: true },
  'node --test': {
    ...program('tests', { nodeArgs: ['--test'], load: 'NODE_OPTIONS' }),
    // Warnings of the child process stand where the runner happens to read them.
    plain: (text) =>
      text
        .replaceAll(/^.*(?:ExperimentalWarning|--trace-warnings).*\n/gm, '')
        .replaceAll(/duration_ms:? [\d.]+|\([\d.]+ms\)/g, '<duration>'),
    code: 1,
    natural: false,
    sample: true,
  },
  '--permission, recordings allowed': {
    command: ({ origin, recording, major }) => ({
      args: [app('endings'), 'exitCode'],
      nodeArgs: permissionArgs(major, [`${recording}*`]),
      env: { ...providerEnv(origin) },
    }),
    prepareRun: ({ recording }) => mkdirSync(recording),
    local: true,
    code: 6,
  },
  '--permission, nothing to be written': {
    command: ({ origin, major }) => ({
      args: [app('endings'), 'exitCode'],
      nodeArgs: permissionArgs(major),
      env: providerEnv(origin),
    }),
    local: true,
    code: 6,
    calls: 0,
    unrecorded: () => true,
    deviations: [{ label: 'stderr', why: 'one warning says that nothing can be kept' }],
  },
  'frozen intrinsics of its own': { ...program('frozen'), code: 0 },
  '--frozen-intrinsics': { ...program('frozen', { nodeArgs: ['--frozen-intrinsics', '--no-warnings'] }), code: 0 },
  'handles counted': {
    ...program('handles'),
    local: true,
    sample: true,
    deviations: ['a call', 'a stream', 'five at once', 'the exit'].map((when) => ({
      label: `requests after ${when}`,
      why: 'while the recorder looks after its directory, a file request of the thread pool is among the active ones',
      sometimes: true,
    })),
  },
  'worker threads and child processes': {
    ...program('children', { load: 'NODE_OPTIONS' }),
    // The worker that is terminated in mid-stream.
    died: 1,
    natural: false,
  },
  'the natural end, and beforeExit': ending('natural', { code: 0 }),
  'process.exitCode': ending('exitCode', { code: 6 }),
  'process.exit': ending('exit', { code: 5 }),
  'an uncaught exception': ending('throw', { code: 1 }),
  'SIGTERM without a listener': ending('signal'),
  'SIGTERM with a listener': ending('listened', { code: 9 }),
  'process.abort': {
    ...ending('abort'),
    died: 1,
    // Addresses of Node.js' own code.
    plain: (text) => text.replaceAll(/^.*0x[0-9a-f]{4,}.*$/gm, '<frame>'),
  },
  'the SDK on --import': {
    command: ({ origin, preload }) => ({
      args: [join(bundles, 'agent.mjs')],
      nodeArgs: [],
      env: providerEnv(origin),
      load: preload ? '--import' : undefined,
    }),
    prepare: bundle,
  },
  'Next.js, standalone output': {
    skip: () => (existsSync(standalone) ? undefined : 'it is built by `npm run test:nodes`'),
    command: ({ origin, webPort }) => ({
      args: [standalone],
      env: { ...providerEnv(origin), PORT: String(webPort), HOSTNAME: '127.0.0.1', NEXT_TELEMETRY_DISABLED: '1' },
    }),
    plain: (text) => text.replaceAll(/\d+(\.\d+)?m?s/g, '<time>'),
    visit: async ({ webPort, see }) => {
      const url = `http://127.0.0.1:${webPort}`;
      const shown = async (label, response) => {
        const headers = [...response.headers].filter(([name]) => name !== 'date' && name !== 'etag');
        see(label, [response.status, headers, await response.text()]);
      };
      await shown(
        'stream',
        await fetch(`${url}/api/ask`, { method: 'POST', body: JSON.stringify({ question: 'hello' }) }),
      );
      await shown('cached', await fetch(`${url}/api/ask`));
      const page = await (await fetch(url)).text();
      see('page', /<main>.*?<\/main>/.exec(page)?.[0]);
    },
    ready: /Ready/,
    natural: false,
  },
};
