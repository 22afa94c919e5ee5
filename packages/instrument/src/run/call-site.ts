/** Who asked: the first file on the stack below a hook, which tells the program's own code from everybody else's. */
import { fileURLToPath } from 'node:url';

/** A caller that is the program, or one of its packages. */
export interface CallSite {
  /** `file:line:column`, relative to the working directory of the start where it lies below it. */
  at: string;
}

/** Files between a hook and the program: `Array.from(…, Math.random)` has frames without a file. */
const MAX_FRAMES = 4;
/** So many names of files are remembered. */
const MAX_NAMES = 10_000;
/** Clients whose own clock and timers decide about connections only; a replay has other connections. */
const CONNECTION_CODE = /[\\/]node_modules[\\/](?:undici(?:-\d+)?|agentkeepalive|agent-base)[\\/]/;

/** What stands between a program and the clock that `console.timeEnd` reads out to it. */
const CONSOLE_CODE: ReadonlySet<string> = new Set(['node:internal/console/constructor', 'node:internal/util/debuglog']);

/** What a hook is asked for decides whether the platform's own code counts as a caller. */
export type Callers = 'program' | 'program_and_platform';

/** Tells callers. `ownDirectories`: files below them are Orangebox's own. */
export class CallSites {
  readonly #own: readonly string[];
  readonly #bases: readonly string[];
  readonly #names: Map<string, string> = new Map();
  readonly #owned: Map<string, boolean> = new Map();
  readonly #holder: { stack?: unknown } = {};

  /** `original`: the directory that the working directory is a copy of. */
  constructor(ownDirectories: readonly string[], workingDirectory: string, original?: string) {
    this.#own = ownDirectories;
    const directories = [workingDirectory, ...(original === undefined ? [] : [original])];
    this.#bases = directories.map((path) => (path.endsWith('/') ? path : `${path}/`));
  }

  /** The caller of `below`; undefined where it is nobody whose values belong to the run. */
  of(below: (...args: never[]) => unknown, callers: Callers): CallSite | undefined {
    const frames = this.#frames(below);
    for (const frame of frames) {
      const file = frame.getFileName();
      if (!file || CONSOLE_CODE.has(file)) continue;
      if (this.#isOwn(file)) return undefined;
      const isPlatform = file.startsWith('node:');
      if (callers === 'program' && (isPlatform || CONNECTION_CODE.test(file))) return undefined;
      return { at: `${this.#name(file)}:${frame.getLineNumber() ?? 0}:${frame.getColumnNumber() ?? 0}` };
    }
    return { at: 'native' };
  }

  #isOwn(file: string): boolean {
    let isOwn = this.#owned.get(file);
    if (isOwn === undefined) {
      // Modules of the platform's newer kind are named by their address.
      const path = pathOf(file);
      isOwn = this.#own.some((directory) => path.startsWith(directory));
      if (this.#owned.size >= MAX_NAMES) this.#owned.clear();
      this.#owned.set(file, isOwn);
    }
    return isOwn;
  }

  /** None where the program took care that there are none. Never throws: it runs within each reading of a clock. */
  #frames(below: (...args: never[]) => unknown): NodeJS.CallSite[] {
    let restore: (() => void) | undefined;
    try {
      const had = {
        limit: Object.hasOwn(Error, 'stackTraceLimit'),
        prepare: Object.hasOwn(Error, 'prepareStackTrace'),
      };
      const { stackTraceLimit: limit, prepareStackTrace: prepare } = Error;
      restore = () => {
        if (had.limit) Error.stackTraceLimit = limit;
        else Reflect.deleteProperty(Error, 'stackTraceLimit');
        if (had.prepare) Error.prepareStackTrace = prepare;
        else Reflect.deleteProperty(Error, 'prepareStackTrace');
      };
      Error.stackTraceLimit = MAX_FRAMES;
      Error.prepareStackTrace = (_error, sites) => sites;
      Error.captureStackTrace(this.#holder, below);
      const { stack } = this.#holder;
      return Array.isArray(stack) ? (stack as NodeJS.CallSite[]) : [];
    } catch {
      return [];
    } finally {
      try {
        restore?.();
      } catch {
        // A program may have frozen it: then nothing was changed either.
      }
    }
  }

  #name(file: string): string {
    const known = this.#names.get(file);
    if (known !== undefined) return known;
    const path = pathOf(file);
    const modules = path.lastIndexOf('/node_modules/');
    const base = this.#bases.find((one) => path.startsWith(one));
    const name = base !== undefined ? path.slice(base.length) : modules < 0 ? path : path.slice(modules + 1);
    // Code that is made while the program runs may have a name of its own each time.
    if (this.#names.size >= MAX_NAMES) this.#names.clear();
    this.#names.set(file, name);
    return name;
  }
}

function pathOf(file: string): string {
  if (!file.startsWith('file:')) return file;
  try {
    return fileURLToPath(file);
  } catch {
    // A name that code was given need not be one of a file here.
    return file;
  }
}
