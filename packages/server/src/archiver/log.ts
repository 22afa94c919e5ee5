/** One line of JSON per event on standard error. Never payload text, never a secret; the same event only so often. */

/** Values of a line's fields. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Writes lines. */
export interface ArchiverLog {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
}

const WINDOW_MS = 10_000;
const LINES_PER_WINDOW = 5;
const TEXT_MAX = 512;

/** A log that tells each event at most five times in ten seconds, and then how often it left it out. */
export function createLog(
  write: (line: string) => void = (line) => void process.stderr.write(line),
  nowMs: () => number = Date.now,
): ArchiverLog {
  const windows = new Map<string, { untilMs: number; told: number; left: number }>();
  const line = (level: string, event: string, fields: LogFields = {}): void => {
    const now = nowMs();
    let window = windows.get(event);
    let suppressed: number | undefined;
    if (window === undefined || now >= window.untilMs) {
      if (window !== undefined && window.left > 0) suppressed = window.left;
      window = { untilMs: now + WINDOW_MS, told: 0, left: 0 };
      windows.set(event, window);
    }
    if (window.told >= LINES_PER_WINDOW) {
      window.left += 1;
      return;
    }
    window.told += 1;
    const cut = Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > TEXT_MAX ? `${value.slice(0, TEXT_MAX)}…` : value,
    ]);
    const record = { time: new Date(now).toISOString(), level, event, ...Object.fromEntries(cut), suppressed };
    write(`${JSON.stringify(record)}\n`);
  };
  return {
    info: (event, fields) => line('info', event, fields),
    warn: (event, fields) => line('warn', event, fields),
  };
}
