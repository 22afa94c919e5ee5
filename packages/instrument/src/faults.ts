/** Faults inside Orangebox: never thrown into the program, counted, reported once. */

/** How often something went wrong, by place. */
export interface FaultCounts {
  [place: string]: number;
}

/** Counts faults and warns about the first of each place. */
export interface Faults {
  readonly counts: FaultCounts;
  /** Counts a fault; the first one of a place is written to stderr. */
  note(place: string, error: unknown): void;
  /** Writes a line to stderr, once per text. */
  warn(message: string): void;
}

/** Makes the fault counter; `write` is stderr unless a test looks at it. */
export function createFaults(write: (line: string) => void = writeStderr): Faults {
  const counts: FaultCounts = {};
  const said = new Set<string>();
  const warn = (message: string): void => {
    try {
      if (said.has(message) || said.size > 100) return;
      said.add(message);
      write(`orangebox: ${message}\n`);
    } catch {
      // A closed stderr is not the program's problem, nor is what it put in the place of the platform's functions ours.
    }
  };
  return {
    counts,
    warn,
    note(place, error) {
      const count = (counts[place] ?? 0) + 1;
      counts[place] = count;
      if (count === 1) warn(`${place} failed, the program is not affected: ${oneLine(error)}`);
    },
  };
}

function oneLine(error: unknown): string {
  try {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return text.split('\n', 1)[0] ?? '';
  } catch {
    return 'an error that cannot be shown';
  }
}

function writeStderr(line: string): void {
  process.stderr.write(line);
}
