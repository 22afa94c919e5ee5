/** Reads all snapshots of a recording through the built packages, as any reader would. */
import { openStore } from '@orangebox/store';

/** The snapshots under an `ORANGEBOX_DIR`, oldest first, with their list entries. */
export async function* snapshotsIn(directory) {
  const store = await openStore(directory);
  try {
    for await (const entry of store.list({ order: 'oldest' })) {
      if (entry.status !== 'not_kept' && entry.status !== 'lost') yield { entry, snapshot: await store.load(entry) };
    }
  } finally {
    await store.close();
  }
}
