/** The store of snapshots in a bucket. */
import { createBucketStore, openBucket, rememberIndex, type SnapshotStore } from '@orangebox/store';

/** Opens `s3://bucket/prefix` with the `AWS_*` variables of an environment. Nothing is asked yet, and no index object twice. */
export function openBucketStore(url: string, env: NodeJS.ProcessEnv): SnapshotStore {
  return createBucketStore(rememberIndex(openBucket(url, { env })));
}
