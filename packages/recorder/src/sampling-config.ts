/** The two forms of `ORANGEBOX_SAMPLE`: a ratio, or a JSON object. */
import { KEEP_ALL, type SamplePolicy, type SampleRule } from './sampling-policy.ts';

/** Reads it. @throws Error whose message says what is wrong */
export function parseSample(raw: string): SamplePolicy {
  const value: unknown = parseJson(raw);
  if (typeof value === 'number') return { ...KEEP_ALL, ratio: ratioOf(value) };
  const { ratio, errors, slowMs, rules, ...rest } = objectOf(value, 'it');
  refuseOthers(rest);
  if (errors !== undefined && typeof errors !== 'boolean') throw new Error('errors is not true or false');
  if (slowMs !== undefined && !(typeof slowMs === 'number' && slowMs >= 0)) {
    throw new Error('slowMs is not a number of milliseconds');
  }
  if (rules !== undefined && !Array.isArray(rules)) throw new Error('rules is not a list');
  return {
    ratio: ratio === undefined ? 1 : ratioOf(ratio),
    errors: errors ?? true,
    ...(slowMs === undefined ? {} : { slowMs }),
    rules: (rules ?? []).map(ruleOf),
  };
}

function parseJson(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    throw new Error('it is neither a ratio such as 0.1 nor a JSON object');
  }
}

function ruleOf(given: unknown): SampleRule {
  const { ratio, model, route, metadata, ...rest } = objectOf(given, 'a rule');
  refuseOthers(rest);
  const tags = metadata === undefined ? undefined : objectOf(metadata, 'metadata of a rule');
  return {
    ratio: ratioOf(ratio),
    ...(model === undefined ? {} : { model: patternOf(model, 'model') }),
    ...(route === undefined ? {} : { route: patternOf(route, 'route') }),
    ...(tags === undefined ? {} : { metadata: Object.fromEntries(Object.entries(tags).map(tagOf)) }),
  };
}

function ratioOf(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw new Error(value === undefined ? 'a rule has no ratio' : 'a ratio is not a number from 0 to 1');
}

function patternOf(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new Error(`${name} of a rule is not a text`);
}

function tagOf([name, value]: [string, unknown]): [string, string | number | boolean | null] {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) {
    return [name, value as string | number | boolean | null];
  }
  throw new Error('metadata of a rule holds something else than texts, numbers, true, false and null');
}

function objectOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(`${what} is not an object`);
}

/** A misspelt word would quietly keep too much or too little. */
function refuseOthers(rest: Record<string, unknown>): void {
  const [name] = Object.keys(rest);
  if (name !== undefined) throw new Error(`${JSON.stringify(name.slice(0, 40))} means nothing`);
}
