/** A program that is killed while nobody takes its recordings, and what `orangebox recover` brings to the store afterwards. */
import { setTimeout as wait } from 'node:timers/promises';
import { pipeline } from '../pipeline.ts';
import { compareStore, type Compared } from './compared.ts';
import { LOAD, untilStored } from './faulty-run.ts';
import { recover, type Recovered } from './recover.ts';
import { startSteadyProgram } from './steady-program.ts';

/** What became of its calls. */
export interface KilledResult {
  /** Requests that the provider had read whole when the program was killed. */
  requests: number;
  /** Promised, and stored, before anybody recovered anything. */
  before: Compared;
  payloads: Compared;
  /** Of `orangebox recover`. */
  recovered: Recovered;
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
