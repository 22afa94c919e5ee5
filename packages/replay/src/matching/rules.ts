/** Differences that the user declared to say nothing: data, each with a reason. */
import { OrangeboxError } from '@orangebox/schema';
import type { LeafPair } from './compare-trees.ts';
import { JsonNumber } from './lossless-json.ts';
import type { MatchRule } from './types.ts';

/** Rules, and characters of one of their texts: a file of rules is no program. */
const RULES_MAX = 1000;
const TEXT_MAX_CHARS = 2000;
const MEMBERS: ReadonlySet<string> = new Set(['reason', 'at', 'pattern', 'method', 'host']);

/**
 * Reads rules from data: a list of objects, or `{"rules": [...]}`.
 *
 * @throws OrangeboxError `OBX_CLI_MATCH_RULES` for what is no rule, with the number of the rule and what is wrong.
 */
export function parseMatchRules(data: unknown): MatchRule[] {
  const list: unknown = isObject(data) && 'rules' in data ? data['rules'] : data;
  if (!Array.isArray(list)) throw refused('rules are a list');
  if (list.length > RULES_MAX) throw refused(`there are more than ${RULES_MAX} rules`);
  return list.map((item, i) => {
    const problem = problemOf(item);
    if (problem !== undefined) throw refused(`rule ${i + 1} ${problem}`);
    return item as MatchRule;
  });
}

function problemOf(item: unknown): string | undefined {
  if (!isObject(item)) return 'is no object';
  const unknown = Object.keys(item).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined) return `has a member that is not known: ${unknown.slice(0, 40)}`;
  for (const name of MEMBERS) {
    const value = item[name];
    if (value !== undefined && (typeof value !== 'string' || value.trim() === '')) return `has no text for ${name}`;
    if (typeof value === 'string' && value.length > TEXT_MAX_CHARS) return `has a ${name} that is too long`;
  }
  if (item['reason'] === undefined) return 'has no reason';
  if (item['at'] === undefined) return 'does not say where (`at`)';
  try {
    new RegExp(String(item['pattern'] ?? ''), 'u');
    return undefined;
  } catch {
    return 'has a pattern that is no regular expression';
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(message: string): OrangeboxError {
  return new OrangeboxError('OBX_CLI_MATCH_RULES', `the match rules are not understood: ${message}`, {
    hint: 'a rule is {"reason": "…", "at": "body.messages[*].content", "pattern": "…"}, see docs/run-replay.md',
  });
}

/** A rule, ready to be asked. */
export class CompiledRule {
  readonly rule: MatchRule;
  readonly #at: RegExp;
  readonly #pattern: RegExp | undefined;

  constructor(rule: MatchRule) {
    this.rule = rule;
    this.#at = pathPattern(rule.at);
    this.#pattern = rule.pattern === undefined ? undefined : new RegExp(rule.pattern, 'gu');
  }

  /** Whether the rule is for such requests. */
  isFor(method: string, origin: string): boolean {
    const { rule } = this;
    if (rule.method !== undefined && rule.method.toUpperCase() !== method) return false;
    return rule.host === undefined || rule.host.toLowerCase() === origin.replace(/^\w+:\/\//, '').toLowerCase();
  }

  /** Whether a difference says nothing by this rule. */
  covers({ path, recorded, live }: LeafPair): boolean {
    if (!this.#at.test(path)) return false;
    const pattern = this.#pattern;
    if (pattern === undefined) return true;
    const [left, right] = [textOf(recorded), textOf(live)];
    return left !== undefined && right !== undefined && left.replace(pattern, '\0') === right.replace(pattern, '\0');
  }
}

function textOf(leaf: LeafPair['recorded']): string | undefined {
  if (typeof leaf === 'string') return leaf;
  return leaf instanceof JsonNumber ? leaf.text : undefined;
}

/** `*` is one name or index, `**` any number of them; what lies below a named place belongs to it. */
function pathPattern(at: string): RegExp {
  const source = at
    .split(/(\*\*|\*)/)
    .map((part) => (part === '**' ? '.*' : part === '*' ? '[^.[\\]]*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')))
    .join('');
  return new RegExp(`^${source}(?:[.[#].*)?$`, 's');
}
