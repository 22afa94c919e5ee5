/** The program that the faults happen to: unmodified, under the preload, with the provider of the tests. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startProvider } from '../../../fixtures/provider/server.mjs';
import { inRepository } from '../../../helpers/repository.ts';
import { cleanEnvironment, type Environment } from '../servers/index.ts';

/** How much it calls. */
export interface Load {
  perSecond: number;
  promptBytes: number;
  /** Each so-manieth call is a large one; 0 for none. */
  largeEvery: number;
  largeBytes: number;
}

/** What it says of its own calls. */
export interface CallsMade {
  calls: number;
  failed: number;
  /** Milliseconds that calls took, by phase. */
  times: Record<string, { calls: number; p50: number; p95: number }>;
  /** Whether each answer had the very bytes that the provider sent. */
  answersRight: boolean;
}

/** The program while it runs. */
export interface SteadyProgram {
  /** Its `ORANGEBOX_DIR`. */
  readonly recordings: string;
  phase(name: string): void;
  /** Its resident memory at its highest so far, in bytes; 0 when it has ended. */
  peakRssBytes(): number;
  /** Requests that its provider has read whole. */
  requestsSeen(): number;
  /** Ends it as the out-of-memory killer does. */
  kill(): Promise<void>;
  /** Ends its calls; it lives on. */
  stopCalls(): Promise<CallsMade>;
  /** Ends it: its exit code and the lines that it wrote to stderr. */
  end(): Promise<{ code: number | null; stderr: string[] }>;
  /** Kills it where it still runs, and removes its recordings. */
  remove(): Promise<void>;
}

/** Starts it; without the preload where `isRecorded` is false, to compare with. */
export async function startSteadyProgram(load: Load, env: Environment, isRecorded = true): Promise<SteadyProgram> {
  const provider = await startProvider();
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-faults-'));
  const recordings = join(directory, 'recordings');
  const child = spawn(
    process.execPath,
    [
      ...(isRecorded ? ['--require', inRepository('packages/orangebox/dist/register.cjs')] : []),
      inRepository('test/lanes/pipeline/faults/steady-calls.mjs'),
      provider.url,
      JSON.stringify(load),
    ],
    {
      cwd: directory,
      env: cleanEnvironment({
        ORANGEBOX_DIR: recordings,
        ORANGEBOX_DIR_BYTES: String(8 * 2 ** 30),
        OTEL_SERVICE_NAME: 'steady',
        // So that a short fault is seen as well.
        OTEL_METRIC_EXPORT_INTERVAL: '1000',
        ...env,
      }),
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  );
  const exited = once(child, 'close') as Promise<[number | null]>;
  const stdout = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return {
    recordings,
    phase: (name) => void child.stdin.write(`phase ${name}\n`),
    peakRssBytes() {
      try {
        const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
        return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
      } catch {
        return 0;
      }
    },
    requestsSeen: () => provider.requests.length,
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
    async stopCalls() {
      child.stdin.write('stop\n');
      const { value, done } = await stdout.next();
      if (done === true) throw new Error(`the program ended by itself: ${stderr}`);
      const { sha256, ...made } = JSON.parse(value) as Omit<CallsMade, 'answersRight'> & { sha256: string };
      const sent = provider.requests.map((request) => createHash('sha256').update(request.sent).digest('hex'));
      return { ...made, answersRight: createHash('sha256').update(sent.sort().join('\n')).digest('hex') === sha256 };
    },
    async end() {
      child.stdin.end();
      const [code] = await exited;
      return { code, stderr: stderr.split('\n').filter((line) => line !== '') };
    },
    async remove() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await exited;
      }
      await provider.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
