/** Matches the requests of a replayed run with those on record. Nothing is given by guess: a miss is a verdict. */
import { Asked, Candidate, type Fit, scopeKey } from './candidate.ts';
import { whyMissed } from './miss.ts';
import { CompiledRule } from './rules.ts';
import type {
  AskedRequest,
  Matcher,
  MatcherOptions,
  MatchReport,
  MatchResult,
  MatchRung,
  OutsideValue,
  RecordedRequest,
  ValueSource,
} from './types.ts';
import { Unifier } from './unifier.ts';

/**
 * Makes the matcher of one run. Each recorded request is given at most once. A request is compared with the next one of
 * its scope, and with those of the scope that knew no more than that one did; on every rung in turn: exact, canonical,
 * unified, rule.
 */
export function createMatcher(recorded: readonly RecordedRequest[], options: MatcherOptions = {}): Matcher {
  return new RunMatcher(recorded, options);
}

class RunMatcher implements Matcher {
  readonly #candidates: Candidate[];
  readonly #byScope: Map<string, Candidate[]> = new Map();
  readonly #unifier: Unifier = new Unifier();
  readonly #rules: CompiledRule[];
  readonly #uses: number[];
  readonly #rungs: Record<MatchRung, number> = { exact: 0, canonical: 0, unified: 0, rule: 0 };

  constructor(recorded: readonly RecordedRequest[], { rules = [] }: MatcherOptions) {
    this.#candidates = [...recorded].sort((a, b) => a.index - b.index).map((request) => new Candidate(request));
    for (const candidate of this.#candidates) {
      const list = this.#byScope.get(candidate.scope);
      if (list) list.push(candidate);
      else this.#byScope.set(candidate.scope, [candidate]);
    }
    this.#rules = rules.map((rule) => new CompiledRule(rule));
    this.#uses = rules.map(() => 0);
  }

  match(request: AskedRequest): MatchResult {
    const asked = new Asked(request);
    const scope = scopeKey(request.scope);
    const inScope = this.#byScope.get(scope) ?? [];
    while (inScope[0]?.isConsumed) inScope.shift();
    const open = openTogether(inScope);
    const found = this.#fit(asked, open);
    if (found === undefined) {
      return whyMissed(
        asked,
        scope,
        open,
        this.#candidates,
        (candidate) => this.#fitOne(asked, candidate),
        this.#unifier,
      );
    }
    const { candidate, fit } = found;
    candidate.isConsumed = true;
    candidate.forget();
    this.#unifier.commit(fit.trial);
    const isPlain = fit.rung === 'exact' || fit.rung === 'canonical';
    const rung = isPlain && request.isMapped ? 'unified' : fit.rung;
    this.#rungs[rung] += 1;
    for (const rule of fit.rules) this.#uses[rule] = (this.#uses[rule] ?? 0) + 1;
    const { index } = candidate.request;
    return { kind: 'matched', index, rung, ...(fit.rung === 'rule' ? { rules: fit.rules } : {}) };
  }

  learn(recordedValue: OutsideValue, liveValue: OutsideValue, from: ValueSource = {}): void {
    this.#unifier.learn(recordedValue, liveValue, from);
  }

  noteServed(text: string): void {
    this.#unifier.noteServed(text);
  }

  report(): MatchReport {
    return {
      rungs: { ...this.#rungs },
      remaining: this.#candidates.filter(({ isConsumed }) => !isConsumed).map(({ request }) => request.index),
      rules: this.#rules.map(({ rule }, i) => ({ rule, uses: this.#uses[i] ?? 0 })),
      unifiedValues: this.#unifier.size,
    };
  }

  /** The best rung first, and on it the recorded order. */
  #fit(asked: Asked, open: readonly Candidate[]): { candidate: Candidate; fit: Fit } | undefined {
    const plain = open.flatMap((candidate) => {
      const fit = candidate.fitsCanonical(asked, this.#unifier);
      return fit ? [{ candidate, fit }] : [];
    });
    const exact = plain.find(({ fit }) => fit.rung === 'exact') ?? plain[0];
    if (exact) return exact;
    for (const rules of [[], this.#rules]) {
      for (const candidate of open) {
        const fit = candidate.fitsUnified(asked, this.#unifier, rules);
        if (fit) return { candidate, fit };
      }
    }
    return undefined;
  }

  #fitOne(asked: Asked, candidate: Candidate): boolean {
    return this.#fit(asked, [candidate]) !== undefined;
  }
}

/** The next request of a scope, and those that were made with the same knowledge: no one promised their order. */
function openTogether(inScope: readonly Candidate[]): Candidate[] {
  const [next] = inScope;
  if (next === undefined) return [];
  const { deliveriesBefore } = next.request;
  if (deliveriesBefore === undefined) return [next];
  return inScope.filter(({ isConsumed, request }) => !isConsumed && request.deliveriesBefore === deliveriesBefore);
}
