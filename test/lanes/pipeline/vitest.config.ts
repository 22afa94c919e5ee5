import { fileURLToPath } from 'node:url';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { alias } from '../../../vitest.config.ts';

const DRILLS = process.env['PIPELINE_DRILLS'] !== undefined;

/** The pipeline lane: real servers on free ports. Drills are run by name only, see `npm run drill:pipeline`. */
const config: ViteUserConfig = defineConfig({
  resolve: { alias },
  test: {
    name: 'pipeline',
    root: fileURLToPath(new URL('../../..', import.meta.url)),
    include: [DRILLS ? 'test/lanes/pipeline/drills/*.drill.mjs' : 'test/lanes/pipeline/**/*.test.ts'],
    // Finds a container engine; in CI starts one where there is none, and ends it.
    globalSetup: 'test/lanes/pipeline/containers/engine.mjs',
    passWithNoTests: false,
    testTimeout: DRILLS ? 1_800_000 : 120_000,
    hookTimeout: 120_000,
    // Each file starts servers of its own; more at a time than cores would only slow them all down.
    maxWorkers: DRILLS ? 1 : 2,
  },
});

export default config;
