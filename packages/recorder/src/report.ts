/** The one place where the recorder speaks to the person: each fault is counted, and said once, on stderr. */

/** Counts faults by code and says each code once. */
export interface Reporter {
  /** Counts `code`; the first time, `message` goes to stderr as one line. */
  warn(code: string, message: string): void;
  /** Counts `code` without a word, so many times (once by default). */
  count(code: string, times?: number): void;
  /** Counts `code`, with the error's message kept for {@link Reporter.faults}. Says it once. */
  fault(code: string, error: unknown): void;
  /** Counts so far, by code. */
  counts(): Record<string, number>;
}

const MAX_MESSAGE_CHARS = 1000;

/** Makes a reporter that writes through `write` (by default to stderr). */
export function createReporter(write: (line: string) => void = writeToStderr): Reporter {
  const counts = new Map<string, number>();
  const bump = (code: string, times = 1): boolean => {
    const before = counts.get(code) ?? 0;
    counts.set(code, before + times);
    return before === 0;
  };
  const warn = (code: string, message: string): void => {
    if (!bump(code)) return;
    try {
      // A message may quote an endpoint or an error: one line, which steers no terminal.
      write(`orangebox: ${message.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').slice(0, MAX_MESSAGE_CHARS)}\n`);
    } catch {
      // A closed stderr is the program's business; there is nobody left to tell.
    }
  };
  return {
    warn,
    count: (code, times) => void bump(code, times),
    fault: (code, error) => warn(code, `internal fault (${code}): ${messageOf(error)}; the program goes on as before`),
    counts: () => Object.fromEntries(counts),
  };
}

function writeToStderr(line: string): void {
  process.stderr.write(line);
}

/** Message of anything that was thrown; never throws itself. */
export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return 'unknown error';
  }
}
