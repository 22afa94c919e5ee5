/** Child processes, threads, timers and async hooks. */
import { isCalledByUs } from './origin.ts';
import type { Asker } from './watch-network.ts';
import { watch } from './watch.ts';

const CHILDREN = ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'];

/** Watches them; `timers.count` is those that our code started. */
export function watchPlatform({ ours, tell }: Asker, ownDirs: readonly string[], timers: { count: number }): void {
  const children = process.getBuiltinModule('node:child_process');
  const environment = { ...process.env };
  for (const name of CHILDREN) {
    watch(children, name, (args, call) => {
      const options = args.find((arg) => typeof arg === 'object' && arg !== null && !Array.isArray(arg));
      const words = args.find((arg) => Array.isArray(arg));
      tell({
        t: 'child',
        ours: ours(),
        file: String(args[0]),
        words: ((words as unknown[] | undefined) ?? []).map(String),
        env: changedIn((options as { env?: NodeJS.ProcessEnv } | undefined)?.env ?? process.env, environment),
      });
      return call();
    });
  }
  watch(process.getBuiltinModule('node:worker_threads'), 'Worker', (args, call) => {
    if (ours()) tell({ t: 'worker', file: String(args[0]) });
    return call();
  });
  watch(process.getBuiltinModule('node:async_hooks'), 'createHook', (_args, call) => {
    if (isCalledByUs(ownDirs)) tell({ t: 'hooks', what: 'async_hooks.createHook' });
    return call();
  });
  for (const name of ['setTimeout', 'setInterval', 'setImmediate']) {
    watch(globalThis, name, (_args, call) => {
      if (ours()) timers.count += 1;
      return call();
    });
  }
  const channels = process.getBuiltinModule('node:diagnostics_channel');
  watch(channels, 'subscribe', (args, call) => {
    if (ours()) tell({ t: 'channel', name: String(args[0]) });
    return call();
  });
}

/** `name=value` of what a child gets and this process did not have. */
function changedIn(env: NodeJS.ProcessEnv, before: NodeJS.ProcessEnv): string[] {
  return Object.entries(env).flatMap(([name, value]) => (before[name] === value ? [] : [`${name}=${value ?? ''}`]));
}
