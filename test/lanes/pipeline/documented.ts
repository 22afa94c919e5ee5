/** What the documentation promises, for tests that look whether it is there. */
import { readFileSync } from 'node:fs';
import { inRepository } from '../../helpers/repository.ts';

/** Names of metrics in docs/pipeline.md that match, each once. */
export function documentedMetrics(pattern: RegExp): string[] {
  const page = readFileSync(inRepository('docs/pipeline.md'), 'utf8');
  return [...new Set(page.match(pattern))].sort();
}
