/** What recorded child processes changed in the working directory, done again in its copy. */
import type { FileChange, FilesChangedRecord } from '@orangebox/schema';
import { type FilePlace, placeFile, removeFile } from './place-files.ts';

/** Files that are named. */
const MAX_NAMED = 50;

/** The changes of a thread's children. */
export class AppliedFiles {
  readonly #place: FilePlace;
  readonly #byChild: Map<number, FileChange[]> = new Map();
  readonly #notApplied: string[] = [];

  constructor(place: FilePlace, records: readonly FilesChangedRecord[]) {
    this.#place = place;
    for (const { child, changes } of records) {
      if (child === undefined) continue;
      const list = this.#byChild.get(child);
      if (list) list.push(...changes);
      else this.#byChild.set(child, [...changes]);
    }
  }

  /** Files that could not be made what they were. */
  get notApplied(): readonly string[] {
    return this.#notApplied;
  }

  /** The child that was started at this place has ended, and the program is about to be told. */
  childEnded(seq: number): void {
    const changes = this.#byChild.get(seq);
    if (!changes) return;
    this.#byChild.delete(seq);
    for (const change of inOrder(changes)) {
      const { kind, file } = change;
      const isDone = kind === 'deleted' ? removeFile(this.#place, file) : placeFile(this.#place, file);
      if (!isDone && this.#notApplied.length < MAX_NAMED) this.#notApplied.push(file.path);
    }
  }
}

/** What is taken away first, and of that what lies deepest. */
export function inOrder(changes: readonly FileChange[]): FileChange[] {
  const gone = changes.filter(({ kind }) => kind === 'deleted');
  const depth = ({ file }: FileChange): number => file.path.split('/').length;
  return [...gone.sort((a, b) => depth(b) - depth(a)), ...changes.filter(({ kind }) => kind !== 'deleted')];
}
