import { it } from 'vitest';
import { initBucket } from '/work/main/packages/store/src/index.ts';
import { startWeed } from '/work/main/test/lanes/pipeline/servers/index.ts';
it('x', async () => {
  const weed = await startWeed();
  try {
    const env = weed.clientEnv;
    const o = { env, retentionDays: 30, writers: ['arn:aws:iam::123456789012:user/w'], readers: ['arn:aws:iam::123456789012:user/r'] };
    console.log(JSON.stringify(await initBucket('s3://some-bucket/team', { ...o, dryRun: true }), null, 1).slice(0, 1500));
    console.log(JSON.stringify((await initBucket('s3://some-bucket/team', o)).items, null, 1));
    console.log(JSON.stringify((await initBucket('s3://some-bucket/team', o)).items, null, 1));
    console.log(JSON.stringify((await initBucket('s3://some-bucket/team', {...o, retentionDays: 31, tier: {days: 7, storageClass: 'GLACIER'}})).items, null, 1));
    console.log(JSON.stringify((await initBucket('s3://some-bucket/team', {...o, retentionDays: 31, tier: {days: 7, storageClass: 'GLACIER'}})).items, null, 1));
  } finally { await weed.stop(); }
});
