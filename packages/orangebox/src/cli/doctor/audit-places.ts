/** The two sides that `doctor` compares: where spans are, and where objects are. */
import { createLocalSource, type ObjectBucket, openBucket, openTraceSource, type TraceSource } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { locate } from '../locate.ts';
import { usage } from '../parse-options.ts';
import { findPlaces, type Places, type SourcePlace } from '../places.ts';

/** Both sides, opened. */
export interface AuditPlaces {
  source: TraceSource;
  /** Absent where the spans are the local ones. */
  sourcePlace: SourcePlace | undefined;
  bucket: ObjectBucket;
  places: Places;
}

/**
 * Opens both.
 *
 * @throws OrangeboxError `OBX_CLI_USAGE` where one of them is not named, `OBX_SOURCE_*` when the backend does not answer.
 */
export async function openAuditPlaces(context: CommandContext, what: string): Promise<AuditPlaces> {
  const places = await bothPlaces(context);
  if (places.store === undefined) {
    throw usage(
      `${what} needs the store that payloads go to, and none is named`,
      'name it with --store s3://bucket/prefix, ORANGEBOX_STORE, or a --context that has one',
    );
  }
  const isLocal = context.places.source === 'local' || (places.source === undefined && context.env.source === 'local');
  if (places.source === undefined && !isLocal) {
    throw usage(
      `${what} needs the trace backend that spans go to, and none is named`,
      'name it with --source http://jaeger:16686, ORANGEBOX_SOURCE, or a --context that has one; "local" takes the recordings of this machine',
    );
  }
  const bucket = openBucket(places.store.url, { env: places.storeEnv, cwd: context.cwd });
  const source =
    places.source === undefined
      ? createLocalSource(locate(context).dir)
      : await openTraceSource(places.source.url, { headers: places.source.headers });
  return { source, sourcePlace: places.source, bucket, places };
}

/** Elsewhere a flag that names one place leaves the other out; here both are needed, and a flag only replaces its own. */
async function bothPlaces(context: CommandContext): Promise<Places> {
  const places = await findPlaces(context);
  const { store, ...others } = context.places;
  if (places.source !== undefined || store === undefined || others.source !== undefined) return places;
  const { source } = await findPlaces({ ...context, places: others });
  return { ...places, source };
}
