/** An agent program that knows nothing of Orangebox, run under the preload, and what it left on this machine. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeBody } from '@orangebox/codec';
import type { Snapshot } from '@orangebox/schema';
import { openStore, type StoredEntry } from '@orangebox/store';
import { type Provider, startProvider } from '../../fixtures/provider/server.mjs';
import { finished } from '../../helpers/finished.ts';
import { inRepository } from '../../helpers/repository.ts';
import { cleanEnvironment, type Environment } from './servers/index.ts';

/** A call or tool execution as the segments of the program have it: what everything else is compared with. */
export interface RecordedCall {
  entry: StoredEntry;
  snapshot: Snapshot;
}

/** What a run left. */
export interface AgentRun {
  code: number | null;
  stdout: string;
  stderr: string;
  /** Its `ORANGEBOX_DIR`, removed by `remove()`. */
  directory: string;
  calls: RecordedCall[];
  remove(): void;
}

/** The programs of the tests. */
export type ProgramName = 'agent' | 'otel';

/** Where they are, and how they are told of their provider. */
const PROGRAMS: Record<ProgramName, { file: string; env: (url: string) => Environment }> = {
  /** The demo's agent: tools, a stream, no OpenTelemetry. */
  agent: { file: 'test/demo/agent.mjs', env: (url: string) => ({ OPENAI_BASE_URL: `${url}/v1` }) },
  /** A program with OpenTelemetry of its own. */
  otel: {
    file: 'test/programs/otel-node/app.cjs',
    env: (url: string) => ({ TEST_PROVIDER_URL: url, TEST_SETUP: 'after' }),
  },
};

const PRELOAD = inRepository('packages/orangebox/dist/register.cjs');

/** Runs a program to its end against a provider of its own. `env` says where its spans and payloads go. */
export async function runAgent(env: Environment, which: ProgramName = 'agent'): Promise<AgentRun> {
  const program = PROGRAMS[which];
  const provider: Provider = await startProvider();
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-agent-'));
  try {
    const child = spawn(process.execPath, ['--require', PRELOAD, inRepository(program.file)], {
      cwd: directory,
      env: cleanEnvironment({
        OPENAI_API_KEY: 'sk-lane-not-a-real-key-0123456789',
        ORANGEBOX_DIR: join(directory, 'recordings'),
        // A busy machine may take its time; what is not sent by the end is no part of these tests.
        ORANGEBOX_EXIT_FLUSH_MS: '30000',
        ...program.env(provider.url),
        ...env,
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, stdout, stderr } = await finished(child);
    const calls = await callsIn(join(directory, 'recordings'));
    return {
      code,
      stdout,
      stderr,
      directory,
      calls,
      remove: () => rmSync(directory, { recursive: true, force: true }),
    };
  } finally {
    await provider.close();
  }
}

/** Everything on record under an `ORANGEBOX_DIR`, oldest first. */
export async function callsIn(directory: string): Promise<RecordedCall[]> {
  const store = await openStore(directory);
  const calls: RecordedCall[] = [];
  try {
    for await (const entry of store.list({ order: 'oldest' })) calls.push({ entry, snapshot: await store.load(entry) });
  } finally {
    await store.close();
  }
  return calls;
}

/** Texts that stand in the bodies of calls and tools, as JSON has them, long enough to stand nowhere else by chance. */
export function bodyTexts(calls: readonly RecordedCall[]): string[] {
  const bodies = calls.flatMap(({ snapshot }) => [
    ...snapshot.exchanges.map(({ request }) => request.body),
    ...snapshot.exchanges.flatMap(({ response }) => (response ? [response.body] : [])),
  ]);
  const texts = bodies.map((body) => Buffer.from(decodeBody(body)).toString());
  texts.push(...calls.map(({ snapshot }) => JSON.stringify(snapshot.tool ?? '')));
  const strings = texts.flatMap((text) => [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, string = '']) => string));
  return [...new Set(strings.filter((string) => string.length >= 12 && string.includes(' ')))];
}
