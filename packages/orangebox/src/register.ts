/**
 * The preload: `node --require orangebox/register app.js`. Built as one CommonJS file without dependencies; the recorder
 * is loaded at the first request that is recorded.
 */
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { installInstrumentation, type RunKit } from '@orangebox/instrument';
import type { PlatformTimers, WireSink } from '@orangebox/recorder';

/** The one function of the recorder that the preload knows. */
interface RecorderModule {
  createRecorder(options: { timers: PlatformTimers; env?: NodeJS.ProcessEnv }): WireSink;
}

/** Of run mode, whose files are loaded only where it is on. */
interface RunModule {
  startRecording(options: {
    kit: RunKit;
    ownDirectories: string[];
    env: NodeJS.ProcessEnv;
    startUnixNano: bigint;
  }): () => void;
}

/** As they are at the start: a program under test puts its own in their place before the recorder is loaded. */
const { setImmediate, setTimeout, clearTimeout } = globalThis;
const { hrtime } = process;
const timers: PlatformTimers = { now: Date.now, hrtime: () => hrtime(), setImmediate, setTimeout, clearTimeout };

/** A run is kept whole, in this directory only: no span of ours may draw on the program's clock and randomness. */
const RUN_SETTINGS: NodeJS.ProcessEnv = {
  OTEL_SDK_DISABLED: 'true',
  ORANGEBOX_ENDPOINT: undefined,
  ORANGEBOX_TRANSPORT: undefined,
  ORANGEBOX_SAMPLE: undefined,
  ORANGEBOX_LEVEL: 'full',
};

/** The environment as it is at the time of asking, with the settings of a run. */
const runEnvironment = (): NodeJS.ProcessEnv =>
  new Proxy(process.env, {
    get: (env, name) =>
      typeof name === 'string' && name in RUN_SETTINGS ? RUN_SETTINGS[name] : Reflect.get(env, name),
  });

installInstrumentation({
  loadSink: (mode) => {
    const require = createRequire(__filename);
    const { createRecorder } = require('@orangebox/recorder') as RecorderModule;
    return createRecorder(mode === 'run' ? { timers, env: runEnvironment() } : { timers });
  },
  loadRun: () => {
    const require = createRequire(__filename);
    const { startRecording } = require('@orangebox/instrument/run') as RunModule;
    const ownDirectories = [
      __filename,
      require.resolve('@orangebox/recorder'),
      require.resolve('@orangebox/instrument'),
    ];
    return (kit) =>
      startRecording({
        kit,
        ownDirectories: ownDirectories.map((file) => `${dirname(file)}/`),
        env: process.env,
        startUnixNano: BigInt(timers.now()) * 1_000_000n,
      });
  },
});
