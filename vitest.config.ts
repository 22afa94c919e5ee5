import { fileURLToPath } from 'node:url';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(`./packages/${path}`, import.meta.url));

/** Tests run against the sources; only programs that a test spawns see the built packages. */
export const alias: { find: RegExp; replacement: string }[] = [
  { find: /^@orangebox\/([a-z]+)$/, replacement: source('$1/src/index.ts') },
  { find: /^@orangebox\/recorder\/recovery$/, replacement: source('recorder/src/recovery/index.ts') },
  { find: /^@orangebox\/instrument\/run$/, replacement: source('instrument/src/run/index.ts') },
  { find: /^@orangebox\/replay\/process$/, replacement: source('replay/src/process/index.ts') },
  { find: /^orangebox$/, replacement: source('orangebox/src/index.ts') },
];

const config: ViteUserConfig = defineConfig({
  test: {
    reporters: ['default'],
    passWithNoTests: false,
    projects: [
      {
        resolve: { alias },
        test: { name: 'unit', include: ['packages/*/src/**/*.test.ts'], testTimeout: 20_000 },
      },
      {
        resolve: { alias },
        test: {
          name: 'process',
          include: ['test/**/*.test.ts'],
          exclude: ['test/programs/**', 'test/lanes/**'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Child processes do the work; more workers than cores would only add noise to timings.
          maxWorkers: 2,
          // Projects of different worker counts run one after the other.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});

export default config;
