/**
 * Which level holds now: that of the environment, of a control file in the directory of recordings, or of a call of the
 * public API. Whoever spoke last is followed. The file is looked at when a call begins, at most once a second.
 */
import { constants } from 'node:fs';
import { join } from 'node:path';
import { type Level, LEVEL_FILE, LEVELS, parseLevel } from '@orangebox/schema';
import type { Reporter } from './report.ts';
import { isTrusted, type SegmentFs } from './segment-directory.ts';
import { nowMs } from './timers.ts';

/** What it works with. */
export interface LevelControlOptions {
  /** Of the environment. */
  level: Level;
  /** Directory of recordings. */
  dir: string;
  fs: SegmentFs;
  reporter: Reporter;
}

const LOOK_MS = 1000;
/** A word of a level and what an editor puts around it. */
const MAX_FILE_BYTES = 64;

/** The level of a process. Never throws. */
export class LevelControl {
  readonly #options: LevelControlOptions;
  readonly #path: string;
  #level: Level;
  #lookedAtMs: number | undefined;
  /** The control file as it was found last; undefined when there was none. */
  #seen: string | undefined;

  constructor(options: LevelControlOptions) {
    this.#options = options;
    this.#path = join(options.dir, LEVEL_FILE);
    this.#level = options.level;
  }

  /** The level for what begins now. */
  get level(): Level {
    const now = nowMs();
    // A clock that was set back must not stop the looking.
    if (this.#lookedAtMs === undefined || Math.abs(now - this.#lookedAtMs) >= LOOK_MS) {
      this.#lookedAtMs = now;
      this.#look();
    }
    return this.#level;
  }

  /** Said by the program: holds until somebody speaks again. */
  set(level: Level): void {
    // What the file says already was said before this.
    this.#look();
    this.#level = level;
  }

  #look(): void {
    const { fs, level, reporter } = this.#options;
    try {
      const stat = fs.lstatSync(this.#path, { throwIfNoEntry: false });
      const stamp = stat && `${stat.ino} ${stat.size} ${stat.mtimeMs}`;
      if (stamp === this.#seen) return;
      this.#seen = stamp;
      if (!stat) {
        this.#level = level;
        return;
      }
      if (!stat.isFile() || !isTrusted(stat.uid)) {
        reporter.warn('level_file', `${this.#path} is no file of this user's; it is not followed`);
        return;
      }
      const said = stat.size > MAX_FILE_BYTES ? undefined : parseLevel(this.#read());
      if (said) this.#level = said;
      else reporter.warn('level_file', `${this.#path} says none of ${LEVELS.join(', ')}; it is not followed`);
    } catch {
      // A file that may not be looked at, as under the permission model, says nothing.
    }
  }

  #read(): string {
    const { fs } = this.#options;
    const bytes = new Uint8Array(MAX_FILE_BYTES);
    // It may have become something else since it was looked at: no link, and no pipe that is waited for.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const fd = fs.openSync(this.#path, flags);
    try {
      const length = fs.readSync(fd, bytes, 0, bytes.length, 0);
      return Buffer.from(bytes.buffer, 0, length).toString();
    } finally {
      fs.closeSync(fd);
    }
  }
}
