/** Version of this package. */
import { createRequire } from 'node:module';

/** As in package.json. */
export const VERSION: string = readVersion();

function readVersion(): string {
  const facts: unknown = createRequire(import.meta.url)('@orangebox/replay/package.json');
  return typeof facts === 'object' && facts !== null && 'version' in facts ? String(facts.version) : 'unknown';
}
