/** From a setting's text to a bucket. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OrangeboxError } from '@orangebox/schema';
import { printableUrl } from '../printable.ts';
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
  return createDirectoryBucket(directoryOf(text, options.cwd));
}

/**
 * The directory that a path or a `file:` URL names. What looks like any other URL is no directory: it would be made at
 * the first write, and recordings be kept where nobody looks for them.
 *
 * @throws OrangeboxError `OBX_STORE_URL`.
 */
export function directoryOf(text: string, cwd = '.'): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return resolve(cwd, text);
  try {
    if (/^file:/i.test(text)) return fileURLToPath(text);
  } catch {
    // Of another machine, or not decodable.
  }
  throw new OrangeboxError('OBX_STORE_URL', `${printableUrl(text)} is no store`, {
    hint: 'name s3://bucket/prefix (its server in AWS_ENDPOINT_URL_S3) or a directory of this machine',
  });
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
