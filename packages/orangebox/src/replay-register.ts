/**
 * The preload of a replay, put into a program by `orangebox replay RUN -- COMMAND`. The taps and hooks are those of the
 * recording; behind them stands what was recorded. Without a plan it does nothing.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { installInstrumentation } from '@orangebox/instrument';
import {
  CallSites,
  ContentStore,
  hookPlatform,
  outcomeOf,
  plainJson,
  redirectPaths,
  runFacts,
  watchOutput,
  whenProcessEnds,
} from '@orangebox/instrument/run';
import {
  openProcessReplay,
  parsePlan,
  sealUnrecordedThread,
  sealWorkers,
  workerReplayData,
} from '@orangebox/replay/process';
import { DEFAULT_DIRECTORY } from '@orangebox/schema';
import { readReplayPreload } from './replay-preload-config.ts';

const config = readReplayPreload(process.env);
// A program may make away with its environment, or give a worker another.
const inherited = workerReplayData();
const plan = inherited?.plan ?? config.plan;
const directory = inherited?.directory ?? config.directory;
if (plan !== undefined) start(plan);

function start(planFile: string): void {
  const require = createRequire(__filename);
  const recordings = resolve(directory ?? DEFAULT_DIRECTORY);
  const { copy, copyOf } = parsePlan(readFileSync(planFile, 'utf8'));
  if (copy !== undefined && copyOf) redirectPaths({ from: copyOf, to: copy, except: [recordings, dirname(planFile)] });
  sealWorkers(__filename, { plan: planFile, directory });
  const live = runFacts(process.env, config.openVariables, directory);
  // A worker that the preload was put into by us alone was not recorded either.
  if (!isMainThread && process.execArgv.includes(__filename) && sealUnrecordedThread(planFile, live)) return;
  const store = new ContentStore(recordings);
  const { replay, paths, refuse } = openProcessReplay(planFile, live, config.secrets, (sha256) => store.read(sha256));
  let hasBegun = false;
  const ownDirectories = [
    __filename,
    ...['@orangebox/instrument', '@orangebox/replay'].map((name) => require.resolve(name)),
  ].map((file) => `${dirname(file)}/`);
  installInstrumentation({
    env: { ORANGEBOX_MODE: 'run' },
    loadSink: () => ({
      open: (asked) => replay.open(asked),
      tool: () => undefined,
      flushSync: () => undefined,
      flush: () => Promise.resolve(),
      needsNoFlush: true,
    }),
    loadRun: () => (kit) => {
      const outputs = isMainThread
        ? {
            stdout: watchOutput(process.stdout, paths?.stream(), replay.outputBytes.stdout),
            stderr: watchOutput(process.stderr, paths?.stream(), replay.outputBytes.stderr),
          }
        : undefined;
      const nothing = { sha256: '', sizeBytes: 0 };
      const written = () => ({
        stdout: outputs?.stdout.digest() ?? nothing,
        stderr: outputs?.stderr.digest() ?? nothing,
      });
      replay.outputs = written;
      replay.begin();
      kit.useTools({
        start(name, _frameId, args) {
          const tool = replay.tools.start(name, plainJson(args));
          return {
            within: (work) => work(),
            ended: (outcome) => tool.ended(outcomeOf(outcome)),
            ...(tool.serve ? { serve: tool.serve } : {}),
          };
        },
      });
      hasBegun = true;
      const undo = hookPlatform({
        draws: replay.draws,
        timers: replay.timers,
        children: replay.children,
        threads: replay.threads,
        work: replay.work,
        input: isMainThread ? replay.input : undefined,
        sites: new CallSites(ownDirectories, process.cwd(), paths?.recorded),
      });
      process.on('uncaughtExceptionMonitor', (error) => replay.failed(error));
      whenProcessEnds((exitCode) => replay.ended({ exitCode, ...written() }));
      return undo;
    },
  });
  // The program would run as ever, and nothing would keep it from going out.
  if (!hasBegun) refuse('the replay could not be put in place: another Orangebox was there before');
}
