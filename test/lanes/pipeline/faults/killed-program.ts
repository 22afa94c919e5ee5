/** A program that is killed while nobody takes its recordings, and what `orangebox recover` brings to the store afterwards. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { inRepository } from '../../../helpers/repository.ts';
import { pipeline } from '../pipeline.ts';
import { cleanEnvironment } from '../servers/index.ts';
import { compareStore, type Compared } from './compared.ts';
import { LOAD, untilStored } from './faulty-run.ts';
import { startSteadyProgram } from './steady-program.ts';

/** What became of its calls. */
export interface KilledResult {
  /** Requests that the provider had read whole when the program was killed. */
  requests: number;
  /** Promised, and stored, before anybody recovered anything. */
  before: Compared;
  payloads: Compared;
  /** Of `orangebox recover`. */
  recovered: { code: number | null; output: string };
  seconds: number;
}

/** Kills a program in an outage of S3, ends the outage, and recovers. */
export async function killInOutage(seconds: number): Promise<KilledResult> {
  const servers = await pipeline('collector');
  const program = await startSteadyProgram(LOAD, servers.programEnv);
  try {
    await wait(3000);
    await servers.weed?.kill('SIGKILL');
    await wait(seconds * 1000);
    await program.kill();
    await servers.weed?.restart();
    const requests = program.requestsSeen();
    const before = await compareStore(servers, program.recordings);
    const startMs = performance.now();
    const recovered = await recover(program.recordings, servers.programEnv);
    await untilStored(servers, program.recordings);
    return {
      requests,
      before,
      payloads: await compareStore(servers, program.recordings),
      recovered,
      seconds: (performance.now() - startMs) / 1000,
    };
  } finally {
    await program.remove();
    await servers.stop();
  }
}

async function recover(directory: string, env: Readonly<Record<string, string>>): Promise<KilledResult['recovered']> {
  const cli = inRepository('packages/orangebox/dist/cli.mjs');
  const child = spawn(process.execPath, [cli, 'recover', directory, '--timeout', '300s'], {
    env: cleanEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
