import { expect, it } from 'vitest';
import { policyLines } from './policy-lines.ts';

it('gives a statement a line, and all of it is JSON', () => {
  const statement = (sid: string) => ({
    Sid: sid,
    Effect: 'Allow' as const,
    Action: ['s3:GetObject'],
    Resource: ['*'],
  });
  const policy = { Version: '2012-10-17' as const, Statement: [statement('One'), statement('Two')] };
  const lines = policyLines(policy);
  expect(lines).toHaveLength(4);
  expect(JSON.parse(lines.join('\n'))).toEqual(policy);
});
