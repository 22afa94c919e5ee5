/** A bucket that is being set up: requests, what their refusals mean, and the report that grows. */
import { type S3Access, type S3BucketOptions, type S3Location } from '../s3-client.ts';
import { s3Error, s3Failure } from '../s3-errors.ts';
import type { BucketInitItem, BucketInitItemName, BucketInitOutcome } from './init-report.ts';

/** The work on one bucket. Each part adds what became of it. */
export class BucketSetup {
  readonly sdk: S3Access['sdk'];
  readonly client: S3Access['client'];
  readonly bucket: string;
  /** Empty, or ends in a slash. */
  readonly prefix: string;
  readonly location: string;
  readonly isDryRun: boolean;
  readonly items: BucketInitItem[] = [];
  /** A dry run found no bucket, so nothing in it can be looked at. */
  isAbsent = false;
  readonly #s3: S3BucketOptions;

  constructor({ sdk, client }: S3Access, place: S3Location, s3: S3BucketOptions, isDryRun: boolean) {
    this.sdk = sdk;
    this.client = client;
    this.bucket = place.bucket;
    this.prefix = place.prefix;
    this.location = `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix.slice(0, -1)}`}`;
    this.isDryRun = isDryRun;
    this.#s3 = s3;
  }

  say(item: BucketInitItemName, outcome: BucketInitOutcome, detail: string): void {
    this.items.push({ item, outcome, detail });
  }

  /** Runs one part and says what became of it: refusals of what the store does not have, or does not allow, are no errors. */
  async setUp(item: BucketInitItemName, work: () => Promise<BucketInitOutcome>, detail: string): Promise<void> {
    if (this.isAbsent) return this.say(item, 'planned', detail);
    try {
      this.say(item, await work(), detail);
    } catch (error) {
      const { name, status = 0 } = s3Failure(error);
      if (isNotOffered(error)) this.say(item, 'not_offered', `the store answered ${status} ${name}`);
      else if (status === 403 || status === 401) this.say(item, 'denied', `the store answered ${status} ${name}`);
      else throw this.error(error, `set up ${item.replace('_', ' ')}`);
    }
  }

  /** Makes a change, unless this is a dry run. */
  async change(isNew: boolean, change: () => Promise<unknown>): Promise<BucketInitOutcome> {
    if (this.isDryRun) return 'planned';
    await change();
    return isNew ? 'made' : 'changed';
  }

  /** An answer, or undefined where the store says that nothing of the kind is set. */
  async ask<T>(none: RegExp, send: () => Promise<T>): Promise<T | undefined> {
    try {
      return await send();
    } catch (error) {
      const { name, status } = s3Failure(error);
      if (none.test(name) || status === 404) return undefined;
      throw error;
    }
  }

  /** The coded error of a request that failed for good. */
  error(error: unknown, doing: string): Error {
    const { credentials } = this.#s3;
    const secrets = [credentials?.accessKeyId, credentials?.secretAccessKey, credentials?.sessionToken];
    return s3Error(error, doing, this.location, secrets);
  }
}

/** Whether a refusal means that the store does not have the thing at all. */
export function isNotOffered(error: unknown): boolean {
  const { name, status } = s3Failure(error);
  if (status === 400 || status === 405 || status === 501) return true;
  return /^(NotImplemented|MethodNotAllowed|MalformedXML|InvalidRequest|InvalidStorageClass)$/.test(name);
}
