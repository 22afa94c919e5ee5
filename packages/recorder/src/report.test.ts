import { expect, it } from 'vitest';
import { createReporter } from './report.ts';

it('says each code once, on one bounded line that steers no terminal', () => {
  const lines: string[] = [];
  const reporter = createReporter((line) => lines.push(line));
  reporter.warn('payload_refused', `refused (\u001b]0;x\u0007\r\nsecond\u2028line ${'x'.repeat(5000)})`);
  reporter.warn('payload_refused', 'again');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^orangebox: refused \( \]0;x second line x+\n$/);
  expect(lines[0]?.length).toBeLessThan(1100);
  expect(reporter.counts()).toEqual({ payload_refused: 2 });
});
