/** What the renderers are given. */
import type { Snapshot } from '@orangebox/schema';

/** A snapshot to be shown, its views made anew. */
export interface ShownCall {
  snapshot: Snapshot;
  ref: string;
  /** The call still runs in a live process; the snapshot is what is on record so far. */
  running?: boolean;
  /** Why the endpoint refused the payload for good. */
  quarantined?: string;
}
