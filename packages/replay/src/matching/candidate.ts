/** One recorded request and how another is compared with it. */
import { headerOf } from '@orangebox/codec';
import { type CanonicalRequest, canonicalRequest } from './canonical-request.ts';
import {
  differingHeads,
  differingLeaves,
  type LeafPair,
  leafDifference,
  noiseDifferences,
  sameBytes,
} from './compare-trees.ts';
import { JsonNumber } from './lossless-json.ts';
import type { CompiledRule } from './rules.ts';
import { fitSecrets } from './secret-fit.ts';
import type { AskedRequest, LeafDifference, MatchRung, RecordedRequest } from './types.ts';
import { emptyTrial, type Trial, type Unifier } from './unifier.ts';
import { mayStayEqual, unifyText } from './unify-text.ts';

/** A request that was asked for; its canonical form is made once. */
export class Asked {
  readonly request: AskedRequest;
  #canonical: CanonicalRequest | undefined;

  constructor(request: AskedRequest) {
    this.request = request;
  }

  get canonical(): CanonicalRequest {
    return (this.#canonical ??= canonicalRequest(this.request));
  }
}

/** A match, not yet committed. */
export interface Fit {
  rung: MatchRung;
  trial: Trial;
  rules: number[];
}

/** A recorded request; its canonical form is made once, and only when it is needed. */
export class Candidate {
  readonly request: RecordedRequest;
  readonly scope: string;
  isConsumed = false;
  #canonical: CanonicalRequest | undefined;

  constructor(request: RecordedRequest) {
    this.request = request;
    this.scope = scopeKey(request.scope);
  }

  get canonical(): CanonicalRequest {
    return (this.#canonical ??= canonicalRequest(this.request));
  }

  /** Lets go of what was worked out: it is made anew in the rare case that it is wanted again. */
  forget(): void {
    this.#canonical = undefined;
  }

  /** Whether both are the same request up to what the canonical form forgives. */
  fitsCanonical(asked: Asked, unifier: Unifier): Fit | undefined {
    const trial = emptyTrial();
    const isSecretsOnly = (pair: LeafPair): boolean => this.#isSecret(pair, unifier, trial);
    const isSame = this.#isSameWire(asked);
    const pairs = (isSame ? differingHeads : differingLeaves)(this.canonical, asked.canonical);
    return pairs.every(isSecretsOnly) ? { rung: isSame ? 'exact' : 'canonical', trial, rules: [] } : undefined;
  }

  /** Whether both are the same but for values that stand for each other, and for what rules forgive. */
  fitsUnified(asked: Asked, unifier: Unifier, rules: readonly CompiledRule[]): Fit | undefined {
    if (unifier.isEmpty && rules.length === 0) return undefined;
    const trial = emptyTrial();
    const equal: string[] = [];
    const pairs = differingLeaves(this.canonical, asked.canonical, (text) => equal.push(text));
    const used = new Set<number>();
    for (const pair of pairs) {
      if (this.#isSecret(pair, unifier, trial) || isUnified(pair, unifier, trial)) continue;
      const rule = this.#ruleFor(pair, rules);
      if (rule < 0) return undefined;
      used.add(rule);
    }
    // What is bound by now may show that a text that did not change should have.
    if (!equal.every((text) => mayStayEqual(text, unifier, trial))) return undefined;
    return { rung: used.size > 0 ? 'rule' : 'unified', trial, rules: [...used].sort((a, b) => a - b) };
  }

  /** All differences, to be shown: what tokens stand for is none. */
  differences(asked: Asked, unifier: Unifier): LeafDifference[] {
    const trial = emptyTrial();
    const pairs = differingLeaves(this.canonical, asked.canonical).filter(
      (pair) => !this.#isSecret(pair, unifier, trial) && !isUnified(pair, unifier, trial),
    );
    return [...pairs, ...noiseDifferences(this.canonical, asked.canonical)].map(leafDifference);
  }

  #isSecret({ recorded, live }: LeafPair, unifier: Unifier, trial: Trial): boolean {
    if (typeof recorded !== 'string' || typeof live !== 'string') return false;
    const fits = fitSecrets(recorded, live);
    return fits !== undefined && unifier.bindSecrets(fits, trial);
  }

  /** Equal bytes that are encoded otherwise say something else: that is left to the canonical form. */
  #isSameWire({ request }: Asked): boolean {
    const encodingOf = ({ headers }: AskedRequest): string => headerOf(headers, 'content-encoding') ?? '';
    return (
      request.url === this.request.url &&
      sameBytes(request.body, this.request.body) &&
      encodingOf(request) === encodingOf(this.request)
    );
  }

  #ruleFor(pair: LeafPair, rules: readonly CompiledRule[]): number {
    const { method, origin } = this.canonical;
    return rules.findIndex((rule) => rule.isFor(method, origin) && rule.covers(pair));
  }
}

/** One text for a scope. */
export function scopeKey(scope: readonly string[]): string {
  return scope.join('\0');
}

function isUnified({ recorded, live }: LeafPair, unifier: Unifier, trial: Trial): boolean {
  const left = recorded instanceof JsonNumber ? recorded.text : recorded;
  const right = live instanceof JsonNumber ? live.text : live;
  // A number may not become a text, nor the reverse.
  if (typeof left !== 'string' || typeof right !== 'string' || typeof recorded !== typeof live) return false;
  return unifyText(left, right, unifier, trial);
}
