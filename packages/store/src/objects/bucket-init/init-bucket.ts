/** Sets a bucket up: itself, no public access, encryption, lifecycle, policies. A second run changes nothing. */
import type { LifecycleRule } from '@aws-sdk/client-s3';
import { resolve } from 'node:path';
import { createDirectoryBucket } from '../directory-bucket.ts';
import { type OpenBucketOptions, s3OptionsOf } from '../open-bucket.ts';
import {
  checkEndpoint,
  loadS3,
  parseS3Url,
  type S3Access,
  type S3BucketOptions,
  type S3Location,
} from '../s3-client.ts';
import { s3Error, s3Failure } from '../s3-errors.ts';
import type { BucketInitItem, BucketInitItemName, BucketInitOutcome, BucketInitReport } from './init-report.ts';
import { describeRules, type LifecycleWishes, mergeRules, wantedRules } from './lifecycle.ts';
import { bucketPolicies, mergePolicy, statementsFor } from './policies.ts';

/** What {@link initBucket} sets up. */
export interface BucketInitOptions extends LifecycleWishes, OpenBucketOptions {
  /** Default encryption of new objects: with the store's keys (default), with a key of its KMS, or left alone. */
  encryption?: 'store' | 'none' | { kmsKeyId: string };
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
  const setup = new BucketSetup(await loadS3(s3), place, s3, options);
  try {
    return await setup.run();
  } finally {
    setup.close();
  }
}

async function initDirectory(text: string, options: BucketInitOptions): Promise<BucketInitReport> {
  const path = resolve(options.cwd ?? '.', text);
  const bucket = createDirectoryBucket(path);
  const isNew = (await bucket.prefixes('')).length === 0;
  if (options.dryRun !== true) await bucket.check();
  const outcome = options.dryRun === true ? 'planned' : 'made';
  const items: BucketInitItem[] = [
    isNew
      ? { item: 'bucket', outcome, detail: `the directory ${path}, private to its owner` }
      : { item: 'bucket', outcome: 'unchanged', detail: `the directory ${path} is in use` },
    { item: 'lifecycle', outcome: 'not_offered', detail: 'a directory keeps everything until orangebox purge' },
  ];
  return { location: path, items, hasChanged: isNew && options.dryRun !== true };
}

class BucketSetup {
  readonly #sdk: S3Access['sdk'];
  readonly #client: S3Access['client'];
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #s3: S3BucketOptions;
  readonly #options: BucketInitOptions;
  readonly #location: string;
  readonly #items: BucketInitItem[] = [];
  /** A dry run found no bucket, so nothing in it can be looked at. */
  #isAbsent = false;

  constructor({ sdk, client }: S3Access, place: S3Location, s3: S3BucketOptions, options: BucketInitOptions) {
    this.#sdk = sdk;
    this.#client = client;
    this.#bucket = place.bucket;
    this.#prefix = place.prefix;
    this.#s3 = s3;
    this.#options = options;
    this.#location = `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix.slice(0, -1)}`}`;
  }

  async run(): Promise<BucketInitReport> {
    await this.#setUpBucket();
    await this.#setUpPublicAccess();
    await this.#setUpEncryption();
    await this.#setUpLifecycle();
    await this.#setUpPolicy();
    return {
      location: this.#location,
      items: this.#items,
      policies: bucketPolicies({ bucket: this.#bucket, prefix: this.#prefix }),
      hasChanged: this.#items.some(({ outcome }) => outcome === 'made' || outcome === 'changed'),
    };
  }

  close(): void {
    this.#client.destroy();
  }

  async #setUpBucket(): Promise<void> {
    const Bucket = this.#bucket;
    try {
      await this.#client.send(new this.#sdk.HeadBucketCommand({ Bucket }));
      return this.#say('bucket', 'unchanged', `${Bucket} is there`);
    } catch (error) {
      if (s3Failure(error).status !== 404) throw this.#error(error, 'look for the bucket');
    }
    if (this.#options.dryRun === true) {
      this.#isAbsent = true;
      return this.#say('bucket', 'planned', `${Bucket} is not there yet`);
    }
    const region = this.#s3.region ?? 'us-east-1';
    const isElsewhere = this.#s3.endpoint === undefined && region !== 'us-east-1';
    try {
      await this.#client.send(
        new this.#sdk.CreateBucketCommand({
          Bucket,
          ...(isElsewhere ? { CreateBucketConfiguration: { LocationConstraint: region as 'eu-west-1' } } : {}),
        }),
      );
    } catch (error) {
      const { name } = s3Failure(error);
      if (name === 'BucketAlreadyOwnedByYou') return this.#say('bucket', 'unchanged', `${Bucket} is there`);
      throw this.#error(error, 'make the bucket');
    }
    this.#say('bucket', 'made', Bucket);
  }

  async #setUpPublicAccess(): Promise<void> {
    const wanted = {
      BlockPublicAcls: true,
      IgnorePublicAcls: true,
      BlockPublicPolicy: true,
      RestrictPublicBuckets: true,
    };
    await this.#setUp(
      'public_access',
      async () => {
        const found = await this.#ask(/^NoSuchPublicAccessBlock/, () =>
          this.#client.send(new this.#sdk.GetPublicAccessBlockCommand({ Bucket: this.#bucket })),
        );
        const now = found?.PublicAccessBlockConfiguration;
        if (Object.keys(wanted).every((name) => now?.[name as keyof typeof wanted] === true)) return 'unchanged';
        return this.#change(now === undefined, () =>
          this.#client.send(
            new this.#sdk.PutPublicAccessBlockCommand({
              Bucket: this.#bucket,
              PublicAccessBlockConfiguration: wanted,
            }),
          ),
        );
      },
      'no public access is possible',
    );
  }

  async #setUpEncryption(): Promise<void> {
    const { encryption = 'store' } = this.#options;
    if (encryption === 'none') return this.#say('encryption', 'skipped', 'left as it is');
    const wanted =
      encryption === 'store'
        ? { SSEAlgorithm: 'AES256' as const }
        : { SSEAlgorithm: 'aws:kms' as const, KMSMasterKeyID: encryption.kmsKeyId };
    await this.#setUp(
      'encryption',
      async () => {
        const found = await this.#ask(/^(ServerSideEncryptionConfigurationNotFound|NoSuchEncryption)/, () =>
          this.#client.send(new this.#sdk.GetBucketEncryptionCommand({ Bucket: this.#bucket })),
        );
        const now = found?.ServerSideEncryptionConfiguration?.Rules?.[0]?.ApplyServerSideEncryptionByDefault;
        const isSame = now?.SSEAlgorithm === wanted.SSEAlgorithm;
        if (isSame && (encryption === 'store' || now.KMSMasterKeyID === encryption.kmsKeyId)) return 'unchanged';
        return this.#change(now === undefined, () =>
          this.#client.send(
            new this.#sdk.PutBucketEncryptionCommand({
              Bucket: this.#bucket,
              ServerSideEncryptionConfiguration: { Rules: [{ ApplyServerSideEncryptionByDefault: wanted }] },
            }),
          ),
        );
      },
      `new objects are encrypted by default (${wanted.SSEAlgorithm})`,
    );
  }

  async #setUpLifecycle(): Promise<void> {
    const { tier, ...withoutTier } = this.#options;
    if (this.#options.retentionDays === undefined) {
      this.#say('lifecycle', 'skipped', 'snapshots are kept for ever: no retention was asked for');
    }
    if (tier && !(await this.#setUpRules(wantedRules(this.#options, this.#prefix), 'tiers'))) {
      this.#say('tiers', 'not_offered', `the store has no storage class ${tier.storageClass} to move objects to`);
      await this.#setUpRules(wantedRules(withoutTier, this.#prefix), 'lifecycle');
    } else if (!tier) {
      await this.#setUpRules(wantedRules(withoutTier, this.#prefix), 'lifecycle');
    }
  }

  /** Whether the store took the rules; with `tiers` a refusal of what it does not have is not said here. */
  async #setUpRules(wanted: LifecycleRule[], item: 'lifecycle' | 'tiers'): Promise<boolean> {
    let wasRefused = false;
    await this.#setUp(
      'lifecycle',
      async () => {
        const found = await this.#ask(/^NoSuchLifecycle/, () =>
          this.#client.send(new this.#sdk.GetBucketLifecycleConfigurationCommand({ Bucket: this.#bucket })),
        );
        const { rules, hasChanged, foreign } = mergeRules(found?.Rules ?? [], wanted);
        if (foreign.length > 0) {
          this.#say('lifecycle', 'skipped', `${foreign.join(', ')} has a rule that is not ours: left as it is`);
        }
        if (!hasChanged) return 'unchanged';
        return this.#change(found?.Rules === undefined, async () => {
          try {
            await this.#client.send(
              new this.#sdk.PutBucketLifecycleConfigurationCommand({
                Bucket: this.#bucket,
                LifecycleConfiguration: { Rules: rules },
              }),
            );
          } catch (error) {
            if (item !== 'tiers' || !isNotOffered(error)) throw error;
            wasRefused = true;
          }
        });
      },
      describeRules(wanted),
    );
    if (wasRefused) this.#items.pop();
    return !wasRefused;
  }

  async #setUpPolicy(): Promise<void> {
    const { writers = [], readers = [] } = this.#options;
    const policies = bucketPolicies({ bucket: this.#bucket, prefix: this.#prefix });
    const ours = [
      ...(writers.length > 0 ? statementsFor('writer', policies.writer, writers) : []),
      ...(readers.length > 0 ? statementsFor('reader', policies.reader, readers) : []),
    ];
    if (ours.length === 0) {
      return this.#say('policy', 'skipped', 'no principals were named: attach the printed policies to users or roles');
    }
    await this.#setUp(
      'policy',
      async () => {
        const found = await this.#ask(/^NoSuchBucketPolicy/, () =>
          this.#client.send(new this.#sdk.GetBucketPolicyCommand({ Bucket: this.#bucket })),
        );
        const Policy = mergePolicy(found?.Policy, ours);
        if (Policy === undefined) return 'unchanged';
        return this.#change(found?.Policy === undefined, () =>
          this.#client.send(new this.#sdk.PutBucketPolicyCommand({ Bucket: this.#bucket, Policy })),
        );
      },
      `${writers.length} may write, ${readers.length} may read`,
    );
  }

  /** Runs one part and says what became of it. */
  async #setUp(item: BucketInitItemName, work: () => Promise<BucketInitOutcome>, detail: string): Promise<void> {
    if (this.#isAbsent) return this.#say(item, 'planned', detail);
    try {
      this.#say(item, await work(), detail);
    } catch (error) {
      const { name, status = 0 } = s3Failure(error);
      if (isNotOffered(error)) this.#say(item, 'not_offered', `the store answered ${status} ${name}`);
      else if (status === 403 || status === 401) this.#say(item, 'denied', `the store answered ${status} ${name}`);
      else throw this.#error(error, `set up ${item.replace('_', ' ')}`);
    }
  }

  async #change(isNew: boolean, change: () => Promise<unknown>): Promise<BucketInitOutcome> {
    if (this.#options.dryRun === true) return 'planned';
    await change();
    return isNew ? 'made' : 'changed';
  }

  /** An answer, or undefined where the store says that nothing of the kind is set. */
  async #ask<T>(none: RegExp, send: () => Promise<T>): Promise<T | undefined> {
    try {
      return await send();
    } catch (error) {
      const { name, status } = s3Failure(error);
      if (none.test(name) || status === 404) return undefined;
      throw error;
    }
  }

  #say(item: BucketInitItemName, outcome: BucketInitOutcome, detail: string): void {
    this.#items.push({ item, outcome, detail });
  }

  #error(error: unknown, doing: string): Error {
    const { credentials } = this.#s3;
    return s3Error(error, doing, this.#location, [credentials?.accessKeyId, credentials?.secretAccessKey]);
  }
}

/** Whether a refusal means that the store does not have the thing at all. */
function isNotOffered(error: unknown): boolean {
  const { name, status } = s3Failure(error);
  if (status === 501 || status === 405) return true;
  return (
    status === 400 || /^(NotImplemented|MethodNotAllowed|MalformedXML|InvalidRequest|InvalidStorageClass)$/.test(name)
  );
}
