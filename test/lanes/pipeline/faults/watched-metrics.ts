/** What somebody who watches the pages of metrics sees: every series, over restarts of the process behind a page, phase by phase. */

/** How a series went in one phase. */
export interface SeriesPhase {
  /** Of a counter: what it grew by. */
  grown: number;
  /** Of a gauge: its highest value. */
  highest: number;
}

/** Watches pages. */
export interface MetricsWatch {
  /** What comes next belongs to this phase. */
  phase(name: string): void;
  /** Looks now, at one page or all; called before a process is killed so that its last counts are not lost. */
  look(page?: string): Promise<void>;
  /** Sum of the series whose name and labels match. */
  of(pattern: RegExp, phase?: string): SeriesPhase;
  /** Looks in a phase at which a page was not there. */
  gone(page: string, phase: string): number;
  /** Series that moved in a phase and not in another, for people. */
  news(phase: string, than: string): string[];
  stop(): Promise<void>;
}

const EVERY_MS = 500;
/** Labels that tell instances and scopes apart, which matters to nobody here. */
const NOISE = /^(service_.*|otel_scope_.*|instance|job|host_.*|process_.*|telemetry_.*|server_.*|net_.*|url_.*|le)$/;

/** Starts to watch; pages by name. */
export function watchMetrics(pages: Readonly<Record<string, string>>): MetricsWatch {
  const last = new Map<string, number>();
  const series = new Map<string, Map<string, SeriesPhase>>();
  const missing = new Map<string, number>();
  let phase = 'before';
  const note = (name: string, change: (entry: SeriesPhase) => void): void => {
    const phases = series.get(name) ?? new Map<string, SeriesPhase>();
    series.set(name, phases);
    const entry = phases.get(phase) ?? { grown: 0, highest: 0 };
    phases.set(phase, entry);
    change(entry);
  };
  const lookAt = async (page: string, url: string): Promise<void> => {
    let text: string;
    try {
      text = await (await fetch(url, { signal: AbortSignal.timeout(2000) })).text();
    } catch {
      missing.set(`${page} ${phase}`, (missing.get(`${page} ${phase}`) ?? 0) + 1);
      return;
    }
    for (const [name, { value, isCounter }] of parsePage(text, page)) {
      if (isCounter) {
        const before = last.get(name) ?? 0;
        last.set(name, value);
        // A counter that shrank began anew with its process.
        note(name, (entry) => (entry.grown += value < before ? value : value - before));
      } else note(name, (entry) => (entry.highest = Math.max(entry.highest, value)));
    }
  };
  const look = async (only?: string): Promise<void> => {
    const wanted = Object.entries(pages).filter(([page]) => only === undefined || page === only);
    await Promise.all(wanted.map(([page, url]) => lookAt(page, url)));
  };
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= look().finally(() => (running = undefined));
  }, EVERY_MS);

  const of = (pattern: RegExp, inPhase?: string): SeriesPhase => {
    const sum = { grown: 0, highest: 0 };
    for (const [name, phases] of series) {
      if (!pattern.test(name)) continue;
      for (const [phaseName, entry] of phases) {
        if (inPhase !== undefined && phaseName !== inPhase) continue;
        sum.grown += entry.grown;
        sum.highest = Math.max(sum.highest, entry.highest);
      }
    }
    return sum;
  };
  return {
    phase: (name) => void (phase = name),
    look,
    of,
    gone: (page, inPhase) => missing.get(`${page} ${inPhase}`) ?? 0,
    news: (now, than) =>
      [...series].flatMap(([name, phases]) => {
        const entry = phases.get(now);
        const before = phases.get(than);
        if (!entry) return [];
        if (entry.grown > 0 && (before?.grown ?? 0) === 0) return [`${name} +${entry.grown}`];
        if (entry.highest > 3 * (before?.highest ?? 0) + 1) {
          return [`${name} up to ${entry.highest} (${before?.highest ?? 0})`];
        }
        return [];
      }),
    async stop() {
      clearInterval(timer);
      await running;
      await look();
    },
  };
}

/** The series of a page by page, name and the labels that matter; equal ones are summed. */
function parsePage(text: string, page: string): Map<string, { value: number; isCounter: boolean }> {
  const kinds = new Map<string, string>();
  const found = new Map<string, { value: number; isCounter: boolean }>();
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\S+) (\S+)/.exec(line);
    if (type) kinds.set(type[1] as string, type[2] as string);
    const sample = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!sample) continue;
    const [, name = '', labels = '', value = ''] = sample;
    if (name.endsWith('_bucket') || name.startsWith('go_')) continue;
    const kept = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)]
      .filter(([, label = '']) => !NOISE.test(label))
      .map(([, label, content]) => `${label}=${content}`);
    const key = `${page} ${name}{${kept.join(',')}}`;
    const isCounter = kinds.get(name) === 'counter' || /_(sum|count)$/.test(name);
    const before = found.get(key);
    const number = Number(value);
    found.set(key, { value: (before?.value ?? 0) + (Number.isFinite(number) ? number : 0), isCounter });
  }
  return found;
}
