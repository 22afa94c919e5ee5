/** Least-privilege policies of a bucket, as AWS defined them and most stores take them. */
import { sha256 } from '../../hash.ts';
import type { S3Location } from '../s3-client.ts';
import type { BucketPolicies, PolicyDocument, PolicyStatement } from './init-report.ts';

/** The policies of the roles that use a bucket. */
export function bucketPolicies({ bucket, prefix }: S3Location): BucketPolicies {
  const list: PolicyStatement = {
    Sid: 'OrangeboxList',
    Effect: 'Allow',
    Action: ['s3:ListBucket'],
    Resource: [`arn:aws:s3:::${bucket}`],
    ...(prefix === '' ? {} : { Condition: { StringLike: { 's3:prefix': [`${prefix}*`] } } }),
  };
  const objects = (Sid: string, Action: string[], folder = ''): PolicyStatement => ({
    Sid,
    Effect: 'Allow',
    Action,
    Resource: [`arn:aws:s3:::${bucket}/${prefix}${folder}*`],
  });
  const document = (...Statement: PolicyStatement[]): PolicyDocument => ({ Version: '2012-10-17', Statement });
  return {
    // It reads what is there before it calls an object of that name a duplicate.
    writer: document(list, objects('OrangeboxWrite', ['s3:PutObject', 's3:GetObject'])),
    reader: document(list, objects('OrangeboxRead', ['s3:GetObject'])),
    maintainer: document(list, objects('OrangeboxMaintain', ['s3:PutObject', 's3:GetObject', 's3:DeleteObject'])),
  };
}

/** The statements of a role as they stand in the bucket's own policy. Each prefix of a bucket has its own. */
export function statementsFor(
  role: 'writer' | 'reader',
  { bucket, prefix }: S3Location,
  principals: string[],
): PolicyStatement[] {
  const roleName = role === 'writer' ? 'Writer' : 'Reader';
  // Letters and digits only, as AWS demands.
  const place = prefix === '' ? '' : sha256(prefix).slice(0, 8);
  return bucketPolicies({ bucket, prefix })[role].Statement.map(({ Sid, Effect, ...rest }) => ({
    Sid: `Orangebox${roleName}${Sid.slice('Orangebox'.length)}${place}`,
    Effect,
    Principal: { AWS: principals },
    ...rest,
  }));
}

/**
 * A bucket policy with our statements in the place of earlier ones of the same names; others' are kept. Undefined when
 * nothing would change.
 */
export function mergePolicy(existing: string | undefined, ours: readonly PolicyStatement[]): string | undefined {
  const parsed = existing === undefined ? {} : (JSON.parse(existing) as { Statement?: unknown; Version?: unknown });
  const before: unknown[] = Array.isArray(parsed.Statement) ? parsed.Statement : [];
  const names = new Set<unknown>(ours.map((statement) => statement.Sid));
  const sidOf = (statement: unknown): unknown => (statement as { Sid?: unknown } | null)?.Sid;
  const mine = before.filter((statement) => names.has(sidOf(statement)));
  const isSame = ours.every((wanted) => mine.some((found) => normal(found) === normal(wanted)));
  if (isSame && mine.length === ours.length) return undefined;
  const others = before.filter((statement) => !names.has(sidOf(statement)));
  return JSON.stringify({ ...parsed, Version: parsed.Version ?? '2012-10-17', Statement: [...others, ...ours] });
}

/** A text that is equal for statements that mean the same: order does not matter, and one value may stand for a list. */
function normal(value: unknown): string {
  if (Array.isArray(value)) return value.length === 1 ? normal(value[0]) : `[${value.map(normal).sort().join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? '';
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${normal(member)}`);
  return `{${members.sort().join()}}`;
}
