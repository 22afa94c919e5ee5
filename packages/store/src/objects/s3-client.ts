/** The S3 client of the AWS SDK, loaded when it is first needed (that takes about 100 ms), and how it is set up. */
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { OrangeboxError } from '@orangebox/schema';
import { isObjectName } from './object-name.ts';

/** Access to an S3 store. What is left out is found as the AWS SDK finds it (environment, shared files, instance). */
export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** When the SDK adds checksums of its own: to all uploads (its default), or only where S3 demands one. */
export type S3Checksum = 'default' | 'when_required';

/** Where a bucket is and how it is spoken to. */
export interface S3BucketOptions {
  /** `s3://bucket` or `s3://bucket/prefix`. */
  url: string;
  /** Base URL of a store that is not AWS; buckets are then named in the path. */
  endpoint?: string;
  /** `us-east-1` by default. */
  region?: string;
  credentials?: S3Credentials;
  /** Profile of the shared AWS files. */
  profile?: string;
  checksum?: S3Checksum;
  /** The bucket in the path instead of the host name; true by default where an endpoint is set. */
  pathStyle?: boolean;
  /** Longest silence of a connection, in milliseconds (default 30,000). */
  timeoutMs?: number;
  /** Tries of a request that met a network error, 5xx or a slow-down (default 3). */
  maxAttempts?: number;
}

/** The SDK's module and a client of it. */
export interface S3Access {
  sdk: typeof import('@aws-sdk/client-s3');
  client: S3Client;
}

/** Longest wait for a connection, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Connections at a time. */
const MAX_SOCKETS = 64;

/** Bucket and prefix of an `s3://` URL; the prefix is empty or ends in a slash. */
export interface S3Location {
  bucket: string;
  prefix: string;
}

/**
 * Takes an `s3://bucket/prefix` URL apart. Doubled and trailing slashes do not matter.
 *
 * @throws OrangeboxError `OBX_STORE_URL`.
 */
export function parseS3Url(url: string): S3Location {
  const match = /^s3:\/\/([^/]*)(?:\/(.*))?$/s.exec(url);
  const bucket = match?.[1] ?? '';
  if (bucket.includes('@')) {
    throw new OrangeboxError('OBX_STORE_URL', 'an s3:// URL holds no credentials', {
      hint: 'give them in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and change the ones that stood there',
    });
  }
  const prefix = (match?.[2] ?? '').split('/').filter(Boolean).join('/');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/.test(bucket) || (prefix !== '' && !isObjectName(prefix))) {
    throw new OrangeboxError('OBX_STORE_URL', `not a bucket: ${JSON.stringify(url.slice(0, 120))}`, {
      hint: 'write it as s3://bucket or s3://bucket/prefix; bucket names have 3 to 63 letters, digits, dots and hyphens',
    });
  }
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/` };
}

/**
 * An endpoint's URL without trailing slashes.
 *
 * @throws OrangeboxError `OBX_STORE_URL` where it is no http(s) URL or holds credentials.
 */
export function checkEndpoint(endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url?.username !== '' || url.password !== '' || !/^https?:$/.test(url.protocol)) {
    throw new OrangeboxError('OBX_STORE_URL', 'the S3 endpoint is not a plain http or https URL', {
      hint: 'set AWS_ENDPOINT_URL_S3 to something like http://127.0.0.1:8333, without credentials in it',
    });
  }
  return endpoint.replace(/\/+$/, '');
}

/** Loads the SDK and makes a client. */
export async function loadS3(options: S3BucketOptions): Promise<S3Access> {
  const sdk = await import('@aws-sdk/client-s3');
  const { endpoint, checksum, timeoutMs = 30_000 } = options;
  const when = checksum === 'when_required' ? ('WHEN_REQUIRED' as const) : undefined;
  const config: S3ClientConfig = {
    region: options.region ?? 'us-east-1',
    maxAttempts: options.maxAttempts ?? 3,
    forcePathStyle: options.pathStyle ?? endpoint !== undefined,
    // Only AWS itself answers with the bucket's region.
    followRegionRedirects: endpoint === undefined,
    // Every object is checked by its own hash (digest, part hash, gzip checksum) when it is read.
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: timeoutMs,
      // Waiting for one of the connections is no reason for a warning on a user's terminal.
      socketAcquisitionWarningTimeout: 600_000,
      httpAgent: { keepAlive: true, maxSockets: MAX_SOCKETS },
      httpsAgent: { keepAlive: true, maxSockets: MAX_SOCKETS },
    },
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(options.credentials ? { credentials: options.credentials } : {}),
    ...(options.profile === undefined ? {} : { profile: options.profile }),
    ...(when === undefined ? {} : { requestChecksumCalculation: when }),
  };
  return { sdk, client: withoutVersionWarning(() => new sdk.S3Client(config)) };
}

/**
 * The SDK warns of Node 20 on the standard error of whoever makes a client, and can be told not to only by a variable of
 * the process. Making one is synchronous, so nobody else's warning can fall into this moment.
 */
function withoutVersionWarning<T>(make: () => T): T {
  const warn = process.emitWarning;
  process.emitWarning = ((...args: Parameters<typeof warn>) => {
    if (!/^NodeVersionSupportWarning: The AWS SDK/.test(String(args[0]))) warn.apply(process, args);
  }) as typeof warn;
  try {
    return make();
  } finally {
    process.emitWarning = warn;
  }
}
