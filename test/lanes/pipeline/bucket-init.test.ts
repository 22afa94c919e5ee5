import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BucketInitReport, initBucket, openBucket } from '@orangebox/store';
import { startWeed, type WeedServer } from './servers/index.ts';

let weed: WeedServer;
beforeAll(async () => {
  weed = await startWeed();
});
afterAll(() => weed.stop());

const outcomes = ({ items }: BucketInitReport): string[] => items.map(({ item, outcome }) => `${item} ${outcome}`);

it('sets a bucket of a real store up, changes nothing the second time, and says what the store does not have', async () => {
  const options = {
    env: weed.clientEnv,
    retentionDays: 30,
    writers: ['arn:aws:iam::123456789012:user/archiver'],
    readers: ['arn:aws:iam::123456789012:user/reader'],
  };
  const planned = await initBucket('s3://set-up/team', { ...options, dryRun: true });
  expect(new Set(planned.items.map(({ outcome }) => outcome))).toEqual(new Set(['planned']));
  const bucket = openBucket('s3://set-up/team', { env: weed.clientEnv });
  await expect(bucket.check()).rejects.toMatchObject({ code: expect.stringMatching(/^OBX_STORE_(NOT_FOUND|DENIED)$/) });

  const made = await initBucket('s3://set-up/team', options);
  expect(outcomes(made)).toEqual([
    'bucket made',
    'public_access made',
    'encryption made',
    'lifecycle made',
    'policy made',
  ]);
  await bucket.check();
  await bucket.write('v1/x', Buffer.from('encrypted at rest'));
  expect(Buffer.from((await bucket.read('v1/x', 100)) ?? []).toString()).toBe('encrypted at rest');

  const again = await initBucket('s3://set-up/team', options);
  expect(again.hasChanged).toBe(false);
  expect(new Set(again.items.map(({ outcome }) => outcome))).toEqual(new Set(['unchanged']));

  const tiers = { ...options, retentionDays: 60, tier: { days: 7, storageClass: 'GLACIER' } };
  expect(outcomes(await initBucket('s3://set-up/team', tiers))).toEqual(
    expect.arrayContaining(['tiers not_offered', 'lifecycle changed']),
  );
  // Another prefix of the same bucket has rules of its own.
  const other = await initBucket('s3://set-up/other', options);
  expect(outcomes(other)).toEqual(expect.arrayContaining(['bucket unchanged', 'lifecycle changed']));
  expect((await initBucket('s3://set-up/team', { ...options, retentionDays: 60 })).hasChanged).toBe(false);
  await bucket.close();
});
