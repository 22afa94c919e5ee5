/** Objects in a bucket of any S3-compatible store. */
import type { Readable } from 'node:stream';
import { OrangeboxError } from '@orangebox/schema';
import type { BucketListOptions, BucketObject, BucketWriteOptions, ObjectBucket } from './bucket.ts';
import { checkObjectName, checkObjectPrefix } from './object-name.ts';
import { startOfBody, wholeBody } from './s3-body.ts';
import { checkEndpoint, loadS3, parseS3Url, type S3Access, type S3BucketOptions } from './s3-client.ts';
import { DELETE_BATCH, deleteEach, deleteTogether } from './s3-delete.ts';
import { s3Error, s3Failure } from './s3-errors.ts';

/**
 * A bucket of an S3 store. Nothing is loaded or connected before the first request.
 *
 * @throws OrangeboxError `OBX_STORE_URL` for what is no `s3://` URL or no endpoint.
 */
export function createS3Bucket(options: S3BucketOptions): ObjectBucket {
  return new S3Bucket(options);
}

/** Tries of a read whose body broke off, and of a write that met another one. */
const BODY_ATTEMPTS = 3;

class S3Bucket implements ObjectBucket {
  readonly kind = 's3';
  readonly location: string;
  readonly #options: S3BucketOptions;
  readonly #bucket: string;
  readonly #prefix: string;
  #access: Promise<S3Access> | undefined;
  /** Whether the store takes `If-None-Match` and lists of names to delete; found out when it refuses. */
  readonly #lacks: Set<'conditional' | 'batches'> = new Set();

  constructor(options: S3BucketOptions) {
    const { bucket, prefix } = parseS3Url(options.url);
    const endpoint = options.endpoint === undefined ? {} : { endpoint: checkEndpoint(options.endpoint) };
    this.#options = { ...options, ...endpoint };
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.location = `s3://${bucket}${prefix === '' ? '' : `/${prefix.slice(0, -1)}`}`;
  }

  async read(name: string, maxBytes: number): Promise<Uint8Array | undefined> {
    return this.#get(name, maxBytes, {});
  }

  async readStart(name: string, sizeBytes: number): Promise<Uint8Array | undefined> {
    if (sizeBytes <= 0) return Buffer.alloc(0);
    return this.#get(name, sizeBytes, { Range: `bytes=0-${sizeBytes - 1}` });
  }

  async #get(name: string, maxBytes: number, part: { Range?: string }): Promise<Uint8Array | undefined> {
    const Key = this.#key(name);
    for (let attempt = 1; ; attempt += 1) {
      let hasAnswered = false;
      try {
        const { sdk, client } = await this.#load();
        const answer = await client.send(new sdk.GetObjectCommand({ Bucket: this.#bucket, Key, ...part }));
        hasAnswered = true;
        const body = answer.Body as Readable;
        // Not every store gives a part; then the whole begins with it.
        if (part.Range !== undefined) return await startOfBody(body, maxBytes);
        return await wholeBody(body, answer.ContentLength, maxBytes, `${this.location}/${name}`);
      } catch (error) {
        if (isNoSuchKey(error)) return undefined;
        // No byte of an empty object can be given.
        if (s3Failure(error).status === 416) return Buffer.alloc(0);
        // The SDK tries again until headers come; a body that breaks off is for us.
        if (hasAnswered && attempt < BODY_ATTEMPTS && !(error instanceof OrangeboxError)) continue;
        throw this.#error(error, `read ${name}`);
      }
    }
  }

  async stat(name: string): Promise<BucketObject | undefined> {
    const Key = this.#key(name);
    try {
      const { sdk, client } = await this.#load();
      const head = await client.send(new sdk.HeadObjectCommand({ Bucket: this.#bucket, Key }));
      return { name, sizeBytes: head.ContentLength ?? 0, modifiedUnixMs: head.LastModified?.getTime() ?? 0 };
    } catch (error) {
      // The answer to HEAD has no body, so a missing bucket looks the same.
      if (s3Failure(error).status === 404) return undefined;
      throw this.#error(error, `look at ${name}`);
    }
  }

  async write(name: string, bytes: Uint8Array, options: BucketWriteOptions = {}): Promise<'written' | 'exists'> {
    this.#key(name);
    try {
      if (options.onlyIfAbsent !== true) return await this.#put(name, bytes, options, false);
      return this.#lacks.has('conditional')
        ? await this.#putUnlessSeen(name, bytes, options)
        : await this.#putConditional(name, bytes, options);
    } catch (error) {
      throw this.#error(error, `write ${name}`);
    }
  }

  async #putConditional(name: string, bytes: Uint8Array, options: BucketWriteOptions): Promise<'written' | 'exists'> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#put(name, bytes, options, true);
      } catch (error) {
        const { name: code, status = 0 } = s3Failure(error);
        if (status === 412) return 'exists';
        if (status === 409 && attempt < BODY_ATTEMPTS) {
          // Another request for the name was under way. Only what is there counts: the other one may have failed.
          if (await this.stat(name)) return 'exists';
          continue;
        }
        const isUnknown =
          status === 501 || (status === 400 && /^(NotImplemented|Invalid(Argument|Request))$/.test(code));
        if (!isUnknown) throw error;
        const outcome = await this.#putUnlessSeen(name, bytes, options);
        this.#lacks.add('conditional');
        return outcome;
      }
    }
  }

  async #putUnlessSeen(name: string, bytes: Uint8Array, options: BucketWriteOptions): Promise<'written' | 'exists'> {
    return (await this.stat(name)) ? 'exists' : this.#put(name, bytes, options, false);
  }

  async #put(name: string, bytes: Uint8Array, options: BucketWriteOptions, isConditional: boolean): Promise<'written'> {
    const { sdk, client } = await this.#load();
    const command = new sdk.PutObjectCommand({
      Bucket: this.#bucket,
      Key: this.#key(name),
      Body: bytes,
      ContentLength: bytes.length,
      ContentType: options.contentType ?? 'application/octet-stream',
      ...(isConditional ? { IfNoneMatch: '*' } : {}),
    });
    await client.send(command, options.signal ? { abortSignal: options.signal } : {});
    return 'written';
  }

  async *list(prefix: string, options: BucketListOptions = {}): AsyncGenerator<BucketObject, void, undefined> {
    const { startAfter, signal } = options;
    const Prefix = this.#prefix + checkObjectPrefix(prefix);
    let token: string | undefined;
    do {
      const request = {
        Bucket: this.#bucket,
        Prefix,
        ...(token === undefined ? {} : { ContinuationToken: token }),
        ...(token === undefined && startAfter !== undefined ? { StartAfter: this.#prefix + startAfter } : {}),
      };
      const page = await this.#page(request, prefix, signal);
      for (const object of page.Contents ?? []) {
        const key = object.Key ?? '';
        // What ends in a slash stands for a folder in some tools.
        if (!key.startsWith(Prefix) || key.endsWith('/')) continue;
        yield {
          name: key.slice(this.#prefix.length),
          sizeBytes: object.Size ?? 0,
          modifiedUnixMs: object.LastModified?.getTime() ?? 0,
        };
      }
      const next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      token = next === token ? undefined : next;
    } while (token !== undefined);
  }

  async prefixes(prefix: string): Promise<string[]> {
    const Prefix = this.#prefix + checkObjectPrefix(prefix);
    const found: string[] = [];
    let token: string | undefined;
    do {
      const request = { Bucket: this.#bucket, Prefix, Delimiter: '/', ...(token ? { ContinuationToken: token } : {}) };
      const page = await this.#page(request, prefix);
      for (const { Prefix: name = '' } of page.CommonPrefixes ?? []) {
        if (name.startsWith(Prefix)) found.push(name.slice(this.#prefix.length));
      }
      const next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      token = next === token ? undefined : next;
    } while (token !== undefined);
    return found;
  }

  async #page(
    request: import('@aws-sdk/client-s3').ListObjectsV2CommandInput,
    prefix: string,
    signal?: AbortSignal,
  ): Promise<import('@aws-sdk/client-s3').ListObjectsV2CommandOutput> {
    try {
      const { sdk, client } = await this.#load();
      return await client.send(new sdk.ListObjectsV2Command(request), signal ? { abortSignal: signal } : {});
    } catch (error) {
      throw this.#error(error, `list ${prefix === '' ? 'objects' : prefix}`);
    }
  }

  async delete(names: readonly string[]): Promise<void> {
    for (const name of names) this.#key(name);
    for (let from = 0; from < names.length; from += DELETE_BATCH) {
      const batch = names.slice(from, from + DELETE_BATCH);
      try {
        const access = await this.#load();
        const keys = batch.map((name) => this.#key(name));
        const isDone = !this.#lacks.has('batches') && (await deleteTogether(access, this.#bucket, keys));
        if (isDone) continue;
        this.#lacks.add('batches');
        await deleteEach(access, this.#bucket, keys);
      } catch (error) {
        throw this.#error(error, `delete ${batch.length === 1 ? batch[0] : `${batch.length} objects`}`);
      }
    }
  }

  async check(): Promise<void> {
    // Not HeadBucket: credentials that may list one prefix only are refused there.
    await this.#page({ Bucket: this.#bucket, Prefix: this.#prefix, MaxKeys: 1 }, '');
  }

  async close(): Promise<void> {
    const access = await this.#access?.catch(() => undefined);
    access?.client.destroy();
    this.#access = undefined;
  }

  #key(name: string): string {
    return this.#prefix + checkObjectName(name);
  }

  async #load(): Promise<S3Access> {
    this.#access ??= loadS3(this.#options);
    return this.#access;
  }

  #error(error: unknown, doing: string): OrangeboxError {
    const { credentials } = this.#options;
    const secrets = [credentials?.accessKeyId, credentials?.secretAccessKey, credentials?.sessionToken];
    return s3Error(error, doing, this.location, secrets);
  }
}

function isNoSuchKey(error: unknown): boolean {
  const { name, status } = s3Failure(error);
  return name === 'NoSuchKey' || (status === 404 && name !== 'NoSuchBucket');
}
