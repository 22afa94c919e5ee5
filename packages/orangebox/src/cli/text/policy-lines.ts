/** A policy of a bucket in few lines. */
import type { BucketInitReport } from '@orangebox/store';
import { safeJson } from './escape.ts';

/** A statement a line: three policies fit on a screen, and each is still JSON to be copied. */
export function policyLines({ Statement, ...rest }: NonNullable<BucketInitReport['policies']>['writer']): string[] {
  const head = safeJson(rest).replace(/\}$/, ',"Statement":[');
  const statements = Statement.map((statement, i) => `  ${safeJson(statement)}${i < Statement.length - 1 ? ',' : ''}`);
  return [head, ...statements, ']}'];
}
