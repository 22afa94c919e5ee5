/** Begins to watch the files of a run's working directory, where that is to be done. */
import { resolve } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { DEFAULT_DIRECTORY } from '@orangebox/schema';
import type { RunKit } from '../../run-kit.ts';
import { signFiles } from '../command-signature.ts';
import { environmentKey } from '../run-facts.ts';
import { ContentStore } from './content-store.ts';
import { type FileChanger, WatchedFiles } from './watched-files.ts';

/** The files of the working directory, once they are on record. */
export interface FileWatch {
  /** Records what changed: by a child process that ended now, or else by the program. Never throws. */
  look(child?: FileChanger): void;
}

/** Undefined in workers, whose process watches already, and in child processes, which are served and not run again. */
export function watchFiles(kit: RunKit, runId: string, notReplayable: (what: string) => void): FileWatch | undefined {
  if (!isMainThread || kit.config.runParent !== undefined) return undefined;
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      kit.fault('looking at files', error);
    }
  };
  let files: WatchedFiles | undefined;
  attempt(() => {
    const root = process.cwd();
    const recordings = resolve(root, kit.config.runDirectory ?? DEFAULT_DIRECTORY);
    const watched = new WatchedFiles(root, [recordings], {
      record: (record) => {
        const signature = signFiles(recordings, runId, record);
        kit.record(signature === undefined ? record : { ...record, signature });
      },
      notReplayable,
      holdsSecret: (bytes) => kit.holdsSecret(bytes),
      store: new ContentStore(recordings),
      key: environmentKey(recordings),
    });
    watched.begin();
    files = watched;
  });
  return files && { look: (child) => attempt(() => files?.look(child)) };
}
