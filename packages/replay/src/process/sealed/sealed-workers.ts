/** Worker threads: one with an environment or options of its own would run without the replay's preload. */
import workers, { SHARE_ENV } from 'node:worker_threads';

/** Where a worker finds what it is to replay, whatever became of its environment. */
const REPLAY_DATA_KEY = 'orangebox.replay';

/** What a worker finds there. */
export interface WorkerReplayData {
  plan: string;
  directory: string | undefined;
}

/** Has every worker load the preload. Which way it is made, `instanceof` and its name stay. */
export function sealWorkers(preload: string, data: WorkerReplayData): void {
  workers.setEnvironmentData(REPLAY_DATA_KEY, { ...data });
  const { Worker } = workers;
  const sealed = new Proxy(Worker, {
    construct(target, [file, options, ...rest]: [unknown, workers.WorkerOptions | undefined], made) {
      return Reflect.construct(target, [file, withPreload(options, preload), ...rest], made) as object;
    },
  });
  Object.assign(workers, { Worker: sealed });
}

/** What this worker was given; undefined in the main thread. */
export function workerReplayData(): WorkerReplayData | undefined {
  const data: unknown = workers.isMainThread ? undefined : workers.getEnvironmentData(REPLAY_DATA_KEY);
  if (typeof data !== 'object' || data === null || !('plan' in data) || typeof data.plan !== 'string') return undefined;
  const directory = 'directory' in data && typeof data.directory === 'string' ? data.directory : undefined;
  return { plan: data.plan, directory };
}

function withPreload(options: workers.WorkerOptions | undefined, preload: string): workers.WorkerOptions | undefined {
  const hasOwnEnv = options?.env !== undefined && options.env !== null && options.env !== SHARE_ENV;
  const execArgv: unknown = options?.execArgv;
  // The options of this process hold for a worker that has none of its own.
  if (!hasOwnEnv && !Array.isArray(execArgv)) return options;
  const own = Array.isArray(execArgv) ? (execArgv as string[]) : process.execArgv;
  return { ...options, execArgv: [...own, '--require', preload] };
}
