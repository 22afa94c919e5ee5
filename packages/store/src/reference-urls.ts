/** References that are URLs: objects of a bucket, and pages of trace UIs. */
import { OrangeboxError } from '@orangebox/schema';
import { printableUrl } from './printable.ts';
import { findKey, ReferenceLookup } from './reference-lookup.ts';
import type { ReferenceOptions, ResolvedReference } from './reference-types.ts';
import { normalKey } from './safe-fs.ts';
import { parseTraceUrl, type TraceUrl } from './sources/trace-url.ts';
import type { SnapshotStore } from './store.ts';

/** A key and the bucket (with prefix) that it stands in. */
interface BucketPlace {
  bucketUrl: string;
  key: string;
}

const KEY_AT_END = /(?:^|\/)(v1\/+[0-9]{8}\/+[0-9a-f]{32}\/+[0-9a-f]{16}\/+[0-9a-f]{16})(?:\/+[^/]*)?$/;

/** Whether a reference is a URL of a kind that {@link findUrl} opens. */
export function isUrl(reference: string): boolean {
  return /^(s3|https?):\/\//i.test(reference);
}

/** What a URL names. @throws OrangeboxError `OBX_REF_UNKNOWN`, `OBX_REF_UNSUPPORTED`, and what the stores throw. */
export async function findUrl(reference: string, options: ReferenceOptions): Promise<ResolvedReference> {
  return /^s3:/i.test(reference) ? byObject(reference, options) : byPage(reference, options);
}

async function byObject(reference: string, options: ReferenceOptions): Promise<ResolvedReference> {
  const place = bucketPlace(reference);
  if (!place) {
    throw new OrangeboxError('OBX_REF_UNSUPPORTED', `${printableUrl(reference)} names no snapshot`, {
      hint: 'give s3://bucket/prefix/v1/<date>/<trace id>/<span id>/<16 hex digits>, or name the bucket with ORANGEBOX_STORE',
    });
  }
  const { store, openBucketUrl } = options;
  if (store.kind === 'bucket' && store.location === place.bucketUrl) return findKey(place.key, store);
  if (!openBucketUrl) {
    throw new OrangeboxError('OBX_REF_UNSUPPORTED', `${printableUrl(reference)} is in a bucket that is not open`, {
      hint: `set ORANGEBOX_STORE=${place.bucketUrl} and give the key`,
    });
  }
  return findKey(place.key, await openBucketUrl(place.bucketUrl));
}

function bucketPlace(reference: string): BucketPlace | undefined {
  const [, bucket, path = ''] = /^s3:\/\/([A-Za-z0-9][A-Za-z0-9._-]{1,62})\/(.*)$/i.exec(reference) ?? [];
  const found = KEY_AT_END.exec(path);
  const key = normalKey(found?.[1] ?? '');
  if (bucket === undefined || !found || key === undefined) return undefined;
  const prefix = path.slice(0, found.index).replace(/^\/+|\/+$/g, '');
  return { bucketUrl: `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`, key };
}

async function byPage(reference: string, options: ReferenceOptions): Promise<ResolvedReference> {
  const url = parseTraceUrl(reference);
  if (!url) {
    throw new OrangeboxError('OBX_REF_UNSUPPORTED', `${printableUrl(reference)} names no trace`, {
      hint: 'paste the address of a trace in Jaeger or Grafana, or give the span or trace id',
    });
  }
  let failure: unknown;
  try {
    const found = await byIds(url, options.store);
    if (found) return found;
  } catch (error) {
    // The backend whose page it is may know it all the same.
    failure = error;
  }
  const asked = url.page === 'page' ? undefined : await options.openSourceUrl?.(url.base);
  const found = asked && (await byIds(url, asked));
  if (found) return found;
  if (failure) throw failure;
  throw new OrangeboxError('OBX_REF_UNKNOWN', `no call of trace ${url.traceId} is known`, {
    hint: `looked in ${options.store.location}${asked ? ` and ${asked.location}` : '; ORANGEBOX_SOURCE names the trace backend to ask'}`,
  });
}

async function byIds({ traceId, spanId }: TraceUrl, store: SnapshotStore): Promise<ResolvedReference | undefined> {
  const lookup = new ReferenceLookup(store, undefined);
  const entries = await lookup.byPlace({ traceId });
  if (entries.length === 0 || spanId === undefined) {
    return entries.length === 0 ? undefined : { kind: 'trace', entries, store };
  }
  const named = entries.filter(
    (entry) => entry.trace.spanId === spanId || (entry.attemptSpanIds?.includes(spanId) ?? false),
  );
  if (named.length > 0) return { kind: 'span', entries: named, store };
  const refs = entries.slice(0, 6).map((entry) => entry.trace.spanId);
  throw new OrangeboxError('OBX_REF_UNKNOWN', `span ${spanId} is no call or tool execution that was recorded`, {
    hint: `the trace has: ${refs.join(', ')}${entries.length > refs.length ? ', …' : ''}`,
  });
}
