/** Which calls are kept: by the share of their trace, because they failed or were slow, by rules. Pure functions. */
import { isWithinRatio } from './otel/sampling.ts';

/** `ORANGEBOX_SAMPLE`, parsed. */
export interface SamplePolicy {
  /** Share of traces that are kept, 0 to 1, where no rule says another. */
  ratio: number;
  /** What failed is kept whatever the ratio. */
  errors: boolean;
  /** What took this long or longer is kept whatever the ratio. */
  slowMs?: number;
  /** The first that fits says the ratio. */
  rules: readonly SampleRule[];
}

/** What is named must fit, all of it. `*` in a text stands for any text. */
export interface SampleRule {
  ratio: number;
  /** The model that the request asks for. */
  model?: string;
  /** `METHOD /path` of the inbound HTTP request that is served. */
  route?: string;
  /** Members of the session's metadata. */
  metadata?: { readonly [name: string]: MetadataValue };
}

type MetadataValue = string | number | boolean | null;

/** Keeps everything. */
export const KEEP_ALL: SamplePolicy = { ratio: 1, errors: true, rules: [] };
/** Level `errors`. */
export const KEEP_ERRORS: SamplePolicy = { ratio: 0, errors: true, rules: [] };

/** What is known when a call or tool run begins. */
export interface SampleBegin {
  /** Absent while the trace may still change. */
  traceId: string | undefined;
  route?: string | undefined;
  metadata?: unknown;
  /** It may turn out to ask a model. */
  mayHaveModel: boolean;
}

/** What is known when it has ended. */
export interface SampleEnd {
  traceId: string;
  route?: string | undefined;
  metadata?: unknown;
  model?: string | undefined;
  isError: boolean;
  durationMs: number;
}

/** `open`: only its end will tell. */
export type SampleVerdict = 'kept' | 'not_kept' | 'open';

/** What can be said at the beginning. The end never contradicts `kept` and `not_kept`. */
export function verdictAtBegin(policy: SamplePolicy, begin: SampleBegin): SampleVerdict {
  // Most programs keep everything, and their requests wait for this.
  if (policy.rules.length === 0 && policy.ratio >= 1) return 'kept';
  const verdicts = new Set(possibleRatios(policy, begin).map((ratio) => verdictOf(ratio, begin.traceId)));
  const [only] = verdicts;
  if (only === undefined || verdicts.size > 1) return 'open';
  if (only !== 'not_kept') return only;
  return policy.errors || policy.slowMs !== undefined ? 'open' : 'not_kept';
}

/** Whether a call or tool run is kept. */
export function isKept(policy: SamplePolicy, end: SampleEnd): boolean {
  if (policy.errors && end.isError) return true;
  if (policy.slowMs !== undefined && end.durationMs >= policy.slowMs) return true;
  const rule = policy.rules.find((r) => fitsPlace(r, end) && (r.model === undefined || fits(r.model, end.model)));
  return isWithinRatio(end.traceId, rule?.ratio ?? policy.ratio);
}

/** The ratios that may come to count: of the rules up to the first that fits for sure. */
function possibleRatios({ rules, ratio }: SamplePolicy, begin: SampleBegin): number[] {
  const ratios: number[] = [];
  for (const rule of rules) {
    if (!fitsPlace(rule, begin) || (rule.model !== undefined && !begin.mayHaveModel)) continue;
    ratios.push(rule.ratio);
    if (rule.model === undefined) return ratios;
  }
  return [...ratios, ratio];
}

function verdictOf(ratio: number, traceId: string | undefined): SampleVerdict {
  if (ratio >= 1) return 'kept';
  if (ratio <= 0) return 'not_kept';
  if (traceId === undefined) return 'open';
  return isWithinRatio(traceId, ratio) ? 'kept' : 'not_kept';
}

function fitsPlace(rule: SampleRule, place: { route?: string | undefined; metadata?: unknown }): boolean {
  if (rule.route !== undefined && !fits(rule.route, place.route)) return false;
  return Object.entries(rule.metadata ?? {}).every(([name, wanted]) => {
    const value = memberOf(place.metadata, name);
    return typeof wanted === 'string' && typeof value === 'string' ? fits(wanted, value) : value === wanted;
  });
}

/** The program may have given anything, also what answers with an error when it is looked at. */
function memberOf(metadata: unknown, name: string): unknown {
  try {
    if (typeof metadata !== 'object' || metadata === null || !Object.hasOwn(metadata, name)) return undefined;
    return (metadata as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** Whether a text is of a pattern in which `*` stands for any text. Each part is looked for once, so that no text takes long. */
function fits(pattern: string, text: string | undefined): boolean {
  if (text === undefined) return false;
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return text === pattern;
  if (!text.startsWith(head)) return false;
  let at = head.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - tail.length >= at && text.endsWith(tail);
}
