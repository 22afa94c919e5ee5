/** From a setting's text to a bucket. */
import { resolve } from 'node:path';
import type { ObjectBucket } from './bucket.ts';
import { createDirectoryBucket } from './directory-bucket.ts';
import { createS3Bucket } from './s3-bucket.ts';
import type { S3BucketOptions } from './s3-client.ts';

/** What {@link openBucket} reads beside the text. */
export interface OpenBucketOptions {
  /** Environment, for the standard `AWS_*` variables. */
  env: Readonly<Record<string, string | undefined>>;
  /** Directory that a relative path starts from. */
  cwd?: string;
  /** Overrides of what the environment says. */
  s3?: Partial<Omit<S3BucketOptions, 'url'>>;
}

/**
 * Opens `s3://bucket/prefix`, or a directory (a path or a `file:` URL). Nothing is read or made yet.
 *
 * @throws OrangeboxError `OBX_STORE_URL`.
 */
export function openBucket(text: string, options: OpenBucketOptions): ObjectBucket {
  if (/^s3:/i.test(text)) {
    const url = text.replace(/^s3:/i, 's3:');
    return createS3Bucket({ ...s3OptionsOf(options.env), ...options.s3, url });
  }
  const path = text.startsWith('file://') ? decodeURIComponent(new URL(text).pathname) : text;
  return createDirectoryBucket(resolve(options.cwd ?? '.', path));
}

/** S3 settings by the names that the AWS tools read. Where credentials are not given here, the SDK looks further. */
export function s3OptionsOf(env: OpenBucketOptions['env']): Omit<S3BucketOptions, 'url'> {
  const given = (name: string): string | undefined => env[name] || undefined;
  const endpoint = given('AWS_ENDPOINT_URL_S3') ?? given('AWS_ENDPOINT_URL');
  const region = given('AWS_REGION') ?? given('AWS_DEFAULT_REGION');
  const accessKeyId = given('AWS_ACCESS_KEY_ID');
  const secretAccessKey = given('AWS_SECRET_ACCESS_KEY');
  const sessionToken = given('AWS_SESSION_TOKEN');
  const profile = given('AWS_PROFILE');
  const checksum = given('AWS_REQUEST_CHECKSUM_CALCULATION')?.toLowerCase();
  return {
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(profile === undefined ? {} : { profile }),
    ...(checksum === 'when_required' ? { checksum } : {}),
    ...(accessKeyId !== undefined && secretAccessKey !== undefined
      ? { credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) } }
      : {}),
  };
}
