/**
 * The preload: `node --require orangebox/register app.js`. Built as one CommonJS file without dependencies; the recorder
 * is loaded at the first request that is recorded.
 */
import { createRequire } from 'node:module';
import { installInstrumentation } from '@orangebox/instrument';
import type { PlatformTimers, WireSink } from '@orangebox/recorder';

/** The one function of the recorder that the preload knows. */
interface RecorderModule {
  createRecorder(options: { timers: PlatformTimers }): WireSink;
}

/** As they are at the start: a program under test puts its own in their place before the recorder is loaded. */
const { setImmediate, setTimeout, clearTimeout } = globalThis;
const timers: PlatformTimers = { now: Date.now, setImmediate, setTimeout, clearTimeout };

installInstrumentation({
  loadSink: () => {
    const require = createRequire(__filename);
    return (require('@orangebox/recorder') as RecorderModule).createRecorder({ timers });
  },
});
