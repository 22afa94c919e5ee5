/** Sets a bucket up: itself, no public access, encryption, lifecycle, policies. A second run changes nothing. */
import { createDirectoryBucket } from '../directory-bucket.ts';
import { directoryOf, type OpenBucketOptions, s3OptionsOf } from '../open-bucket.ts';
import { checkEndpoint, loadS3, parseS3Url, type S3BucketOptions, type S3Location } from '../s3-client.ts';
import { s3Failure } from '../s3-errors.ts';
import { BucketSetup } from './bucket-setup.ts';
import { type BucketEncryption, setUpEncryption } from './encryption.ts';
import type { BucketInitItem, BucketInitReport } from './init-report.ts';
import { type LifecycleWishes, setUpLifecycle } from './lifecycle.ts';
import { bucketPolicies, mergePolicy, statementsFor } from './policies.ts';

/** What {@link initBucket} sets up. */
export interface BucketInitOptions extends LifecycleWishes, OpenBucketOptions {
  /** Default encryption of new objects: with the store's keys (default), with a key of its KMS, or left alone. */
  encryption?: BucketEncryption;
  /** Who may write, for the bucket's own policy (ARNs). Without any principal the policies are only made to be printed. */
  writers?: string[];
  /** Who may read. */
  readers?: string[];
  /** Says what would be done, and does nothing. */
  dryRun?: boolean;
}

/**
 * Makes and sets up a bucket (`s3://bucket/prefix`) or makes a directory. What the store does not offer is said in the
 * report and is no error.
 *
 * @throws OrangeboxError `OBX_STORE_URL`, `OBX_STORE_UNREACHABLE`, `OBX_STORE_DENIED` (the bucket itself), `OBX_STORE_FAILED`.
 */
export async function initBucket(text: string, options: BucketInitOptions): Promise<BucketInitReport> {
  if (!/^s3:/i.test(text)) return initDirectory(text, options);
  const s3: S3BucketOptions = { ...s3OptionsOf(options.env), ...options.s3, url: text.replace(/^s3:/i, 's3:') };
  if (s3.endpoint !== undefined) s3.endpoint = checkEndpoint(s3.endpoint);
  const place = parseS3Url(s3.url);
  const setup = new BucketSetup(await loadS3(s3), place, s3, options.dryRun === true);
  try {
    await setUpBucket(setup, s3);
    await setUpPublicAccess(setup);
    await setUpEncryption(setup, options.encryption ?? 'store');
    await setUpLifecycle(setup, options);
    await setUpPolicy(setup, place, options);
    const { location, items } = setup;
    const hasChanged = items.some(({ outcome }) => outcome === 'made' || outcome === 'changed');
    return { location, items, policies: bucketPolicies(place), hasChanged };
  } finally {
    setup.client.destroy();
  }
}

async function initDirectory(text: string, options: BucketInitOptions): Promise<BucketInitReport> {
  const path = directoryOf(text, options.cwd);
  const bucket = createDirectoryBucket(path);
  const isNew = (await bucket.prefixes('')).length === 0;
  if (options.dryRun !== true) await bucket.check();
  const items: BucketInitItem[] = [
    isNew
      ? {
          item: 'bucket',
          outcome: options.dryRun === true ? 'planned' : 'made',
          detail: `the directory ${path}, private`,
        }
      : { item: 'bucket', outcome: 'unchanged', detail: `the directory ${path} is in use` },
    { item: 'lifecycle', outcome: 'not_offered', detail: 'a directory keeps everything until orangebox purge' },
  ];
  return { location: path, items, hasChanged: isNew && options.dryRun !== true };
}

async function setUpBucket(setup: BucketSetup, s3: S3BucketOptions): Promise<void> {
  const { sdk, client, bucket: Bucket } = setup;
  try {
    await client.send(new sdk.HeadBucketCommand({ Bucket }));
    return setup.say('bucket', 'unchanged', `${Bucket} is there`);
  } catch (error) {
    if (s3Failure(error).status !== 404) throw setup.error(error, 'look for the bucket');
  }
  if (setup.isDryRun) {
    setup.isAbsent = true;
    return setup.say('bucket', 'planned', `${Bucket} is not there yet`);
  }
  const { region = 'us-east-1', endpoint } = s3;
  const place =
    endpoint === undefined && region !== 'us-east-1'
      ? { CreateBucketConfiguration: { LocationConstraint: region as 'eu-west-1' } }
      : {};
  try {
    await client.send(new sdk.CreateBucketCommand({ Bucket, ...place }));
  } catch (error) {
    if (s3Failure(error).name !== 'BucketAlreadyOwnedByYou') throw setup.error(error, 'make the bucket');
    return setup.say('bucket', 'unchanged', `${Bucket} is there`);
  }
  setup.say('bucket', 'made', Bucket);
}

async function setUpPublicAccess(setup: BucketSetup): Promise<void> {
  const { sdk, client, bucket: Bucket } = setup;
  const wanted = {
    BlockPublicAcls: true,
    IgnorePublicAcls: true,
    BlockPublicPolicy: true,
    RestrictPublicBuckets: true,
  };
  const names = Object.keys(wanted) as (keyof typeof wanted)[];
  await setup.setUp(
    'public_access',
    async () => {
      const found = await setup.ask(/^NoSuchPublicAccessBlock/, () =>
        client.send(new sdk.GetPublicAccessBlockCommand({ Bucket })),
      );
      const now = found?.PublicAccessBlockConfiguration;
      if (names.every((name) => now?.[name] === true)) return 'unchanged';
      return setup.change(now === undefined, () =>
        client.send(new sdk.PutPublicAccessBlockCommand({ Bucket, PublicAccessBlockConfiguration: wanted })),
      );
    },
    'no public access is possible',
  );
}

async function setUpPolicy(setup: BucketSetup, place: S3Location, options: BucketInitOptions): Promise<void> {
  const { sdk, client, bucket: Bucket } = setup;
  const { writers = [], readers = [] } = options;
  const ours = [
    ...(writers.length > 0 ? statementsFor('writer', place, writers) : []),
    ...(readers.length > 0 ? statementsFor('reader', place, readers) : []),
  ];
  if (ours.length === 0) {
    return setup.say('policy', 'skipped', 'no principals were named: attach the printed policies to users or roles');
  }
  await setup.setUp(
    'policy',
    async () => {
      const found = await setup.ask(/^NoSuchBucketPolicy/, () =>
        client.send(new sdk.GetBucketPolicyCommand({ Bucket })),
      );
      const Policy = mergePolicy(found?.Policy, ours);
      if (Policy === undefined) return 'unchanged';
      return setup.change(found?.Policy === undefined, () =>
        client.send(new sdk.PutBucketPolicyCommand({ Bucket, Policy })),
      );
    },
    `${writers.length} may write, ${readers.length} may read`,
  );
}
