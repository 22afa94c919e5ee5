/** Default encryption of new objects, and the proof that the store can do what it agreed to. */
import type { ServerSideEncryptionByDefault, ServerSideEncryptionConfiguration } from '@aws-sdk/client-s3';
import { s3Failure } from '../s3-errors.ts';
import type { BucketSetup } from './bucket-setup.ts';

/** With the store's keys, with a key of its KMS, or left alone. */
export type BucketEncryption = 'store' | 'none' | { kmsKeyId: string };

/** Sets default encryption up, and takes it back where the store then takes no object. */
export async function setUpEncryption(setup: BucketSetup, encryption: BucketEncryption): Promise<void> {
  if (encryption === 'none') return setup.say('encryption', 'skipped', 'left as it is');
  const wanted: ServerSideEncryptionByDefault =
    encryption === 'store'
      ? { SSEAlgorithm: 'AES256' }
      : { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: encryption.kmsKeyId };
  const { sdk, client, bucket: Bucket } = setup;
  let isUseless = false;
  const work = async (): Promise<'unchanged' | 'planned' | 'made' | 'changed'> => {
    const found = await setup.ask(/^(ServerSideEncryptionConfigurationNotFound|NoSuchEncryption)/, () =>
      client.send(new sdk.GetBucketEncryptionCommand({ Bucket })),
    );
    const before = found?.ServerSideEncryptionConfiguration;
    const now = before?.Rules?.[0]?.ApplyServerSideEncryptionByDefault;
    const isSame = now?.SSEAlgorithm === wanted.SSEAlgorithm && now?.KMSMasterKeyID === wanted.KMSMasterKeyID;
    // A stronger one that somebody chose is not weakened.
    if (isSame || (encryption === 'store' && now?.SSEAlgorithm !== undefined)) return 'unchanged';
    if (setup.isDryRun) return 'planned';
    const ServerSideEncryptionConfiguration = { Rules: [{ ApplyServerSideEncryptionByDefault: wanted }] };
    await client.send(new sdk.PutBucketEncryptionCommand({ Bucket, ServerSideEncryptionConfiguration }));
    if (!(await takesObjects(setup))) {
      await restore(setup, before);
      isUseless = true;
    }
    return now === undefined ? 'made' : 'changed';
  };
  await setup.setUp('encryption', work, `new objects are encrypted by default (${wanted.SSEAlgorithm})`);
  if (!isUseless) return;
  setup.items.pop();
  setup.say(
    'encryption',
    'not_offered',
    `the store agrees to ${wanted.SSEAlgorithm} and then takes no object (it has no key): taken back`,
  );
}

/** Whether an object can be written, now that it would be encrypted. Some stores find out only then that they have no key. */
async function takesObjects({ sdk, client, bucket: Bucket, prefix }: BucketSetup): Promise<boolean> {
  const Key = `${prefix}orangebox-bucket-init`;
  try {
    await client.send(new sdk.PutObjectCommand({ Bucket, Key, Body: 'written to see whether encryption works' }));
  } catch (error) {
    // Who may set buckets up but not write says nothing about encryption.
    return s3Failure(error).status === 403;
  }
  await client.send(new sdk.DeleteObjectCommand({ Bucket, Key })).catch(() => {});
  return true;
}

async function restore(setup: BucketSetup, before: ServerSideEncryptionConfiguration | undefined): Promise<void> {
  const { sdk, client, bucket: Bucket } = setup;
  await (before
    ? client.send(new sdk.PutBucketEncryptionCommand({ Bucket, ServerSideEncryptionConfiguration: before }))
    : client.send(new sdk.DeleteBucketEncryptionCommand({ Bucket })));
}
