/** Paths of the repository, for tests that look at it as a whole. */
import { fileURLToPath } from 'node:url';

/** Absolute path of a file given from the repository's root. */
export const inRepository = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The packages under `packages/`, in dependency order. */
export const packageNames = [
  'schema',
  'codec',
  'recorder',
  'store',
  'instrument',
  'replay',
  'server',
  'orangebox',
] as const;
