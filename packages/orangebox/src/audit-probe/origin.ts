/** Whose code is at work: told by the stack. */
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `deep`: only dependencies are on the stack, as in the promises of an exporter. */
export type Origin = 'ours' | 'program' | 'deep';

/** Functions of ours that do nothing but call on for the program: method taps, and the wrappers of `http.request`. */
const PASS_THROUGH: ReadonlySet<string> = new Set(['tapped', 'apply', 'construct']);
/** What the recorder loads; the program may load it too. */
const DEPENDENCY = /[\\/]node_modules[\\/](?:@opentelemetry|@bufbuild|@protobufjs|protobufjs)[\\/]/;
const FRAMES = 64;

/** The audit's own files stand beside Orangebox', and are neither it nor the program; the seeds are a program. */
const PROBE = /[\\/]audit-probe\.cjs$/;
const SEEDS = /[\\/]audit-seeds\.cjs$/;

/** Who owns a file. */
export type Owner = 'ours' | 'program' | 'dependency' | 'platform' | 'probe';

/** Who owns the file of a frame, a path or a URL. */
export function ownerOf(file: string | null | undefined, ownDirs: readonly string[]): Owner {
  if (file === null || file === undefined || file === '' || file.startsWith('node:')) return 'platform';
  const path = file.startsWith('file:') ? pathOf(file) : file;
  if (PROBE.test(path)) return 'probe';
  if (SEEDS.test(path)) return 'program';
  if (ownDirs.some((dir) => path.startsWith(dir + sep))) return 'ours';
  return DEPENDENCY.test(path) ? 'dependency' : 'program';
}

/** Whether a function of ours only hands on what the program does. */
export function passesOn(functionName: string | null | undefined): boolean {
  return functionName !== null && functionName !== undefined && PASS_THROUGH.has(functionName);
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return url;
  }
}

/** Makes the question for code of these directories. */
export function originTeller(ownDirs: readonly string[]): () => Origin {
  return () => {
    let seen: Origin = 'program';
    for (const site of callSites()) {
      const owner = ownerOf(site.getFileName(), ownDirs);
      if (owner === 'platform' || owner === 'probe') continue;
      if (owner === 'dependency') {
        seen = 'deep';
        continue;
      }
      if (owner === 'program') return 'program';
      if (!passesOn(site.getFunctionName())) return 'ours';
    }
    return seen;
  };
}

/** Whether a function of ours is the very caller: the platform itself calls some public ones within what we ask of it. */
export function isCalledByUs(ownDirs: readonly string[]): boolean {
  const caller = callSites().find((site) => ownerOf(site.getFileName(), ownDirs) !== 'probe');
  return ownerOf(caller?.getFileName(), ownDirs) === 'ours';
}

/** The frames of here, whatever the program has done to stack traces. */
function callSites(): NodeJS.CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = FRAMES;
    Error.prepareStackTrace = (_error, sites) => sites;
    const holder: { stack?: unknown } = {};
    Error.captureStackTrace(holder, callSites);
    return Array.isArray(holder.stack) ? (holder.stack as NodeJS.CallSite[]) : [];
  } catch {
    // Frozen intrinsics: nothing can be told.
    return [];
  } finally {
    try {
      Error.stackTraceLimit = stackTraceLimit;
      if (prepareStackTrace === undefined) Reflect.deleteProperty(Error, 'prepareStackTrace');
      else Error.prepareStackTrace = prepareStackTrace;
    } catch {
      // As above.
    }
  }
}
