/**
 * Who aborted: at the moment of an abort the stack still shows it. SDKs turn a `break` out of a stream and their own
 * timeout into the same `controller.abort()` that a caller would use, so the wire sees one error for all three.
 */

/** `timeout`: a library's timer did it; `caller_stopped_reading`: a stream was cancelled or left. */
export type AbortOrigin = 'caller_abort' | 'caller_stopped_reading' | 'timeout';

/** A stack frame as far as it matters here. */
export interface Frame {
  file: string;
  fn: string;
}

const MAX_FRAMES = 60;
const UNDICI = /(?:^node:internal\/deps\/undici\/|[\\/]node_modules[\\/]undici[\\/])/;
const LIBRARY = /[\\/]node_modules[\\/]/;
/** Generators of SDKs whose `finally` aborts when the consumer leaves the loop. */
const SDK_STREAM_FILE = /[\\/]node_modules[\\/].*stream[^\\/]*\.[cm]?js$/i;
const SDK_STREAM_FUNCTION = /(?:^|\.)(?:iterator|fromSSEResponse|fromReadableStream)$/;
/** Reads the stack of this very moment, from the caller of `below` outwards. */
export function framesNow(below: (...args: never[]) => unknown): Frame[] {
  const limit = Error.stackTraceLimit;
  const prepare = Error.prepareStackTrace;
  try {
    Error.stackTraceLimit = MAX_FRAMES;
    Error.prepareStackTrace = (_error, sites) => sites;
    const holder: { stack?: unknown } = {};
    Error.captureStackTrace(holder, below);
    const sites = holder.stack;
    if (!Array.isArray(sites)) return [];
    return (sites as NodeJS.CallSite[]).map((site) => ({
      file: site.getFileName() ?? '',
      fn: site.getFunctionName() ?? '',
    }));
  } catch {
    return [];
  } finally {
    Error.stackTraceLimit = limit;
    Error.prepareStackTrace = prepare;
  }
}

const ownFiles = new Set<string>();

/** Marks the calling file as Orangebox's own, whose frames mean nothing. */
export function ownFile(): void {
  const file = framesNow(ownFile)[0]?.file;
  if (file) ownFiles.add(file);
}

/** Tells from the frames of an abort, innermost first, who is behind it. */
export function abortOrigin(frames: readonly Frame[]): AbortOrigin {
  let bySignal = false;
  let byStream = false;
  for (const { file, fn } of frames) {
    // Following a redirect, the fetch of Node 26 lets go of the first answer itself.
    if (fn === 'httpFetch' && !bySignal && UNDICI.test(file)) return 'caller_stopped_reading';
    if (file === '' || UNDICI.test(file) || ownFiles.has(file)) continue;
    if (file.startsWith('node:')) {
      if (file === 'node:internal/abort_controller') {
        // What came before was only the wire being torn down by the signal.
        bySignal = true;
        byStream = false;
      } else if (file.startsWith('node:internal/webstreams/')) byStream = true;
      else if (file.startsWith('node:internal/streams/')) byStream ||= !bySignal;
      else if (file === 'node:internal/timers') {
        return byStream ? 'caller_stopped_reading' : 'timeout';
      }
      continue;
    }
    if (SDK_STREAM_FILE.test(file) || SDK_STREAM_FUNCTION.test(fn)) return 'caller_stopped_reading';
    // A library's frame says nothing yet: it may hand on the program's abort, or its own timer's.
    if (!LIBRARY.test(file)) break;
  }
  return byStream ? 'caller_stopped_reading' : 'caller_abort';
}
