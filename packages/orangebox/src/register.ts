/**
 * The preload: `node --require orangebox/register app.js`. Built as one CommonJS file without dependencies; the recorder
 * is loaded at the first request that is recorded.
 */
import { createRequire } from 'node:module';
import { installInstrumentation } from '@orangebox/instrument';
import type { WireSink } from '@orangebox/recorder';

/** The one function of the recorder that the preload knows. */
interface RecorderModule {
  createRecorder(): WireSink;
}

installInstrumentation({
  loadSink: () => {
    const require = createRequire(__filename);
    return (require('@orangebox/recorder') as RecorderModule).createRecorder();
  },
});
