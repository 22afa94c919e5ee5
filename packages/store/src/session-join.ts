/**
 * Sessions that go on in another process: joined at read time by the chain rule, as the recorder does within one
 * process. Only sessions that nobody declared are joined, and only on what is certain.
 */
import type { Chain, SessionBasis } from '@orangebox/schema';
import { compareStarts } from './filter.ts';

/** What joining needs to know of a call. */
export interface JoinFacts {
  spanId: string;
  traceId: string;
  startUnixNano: string;
  sessionId?: string | undefined;
  basis?: SessionBasis | undefined;
  chain?: Chain | undefined;
  /** Names the process and thread that recorded it. */
  origin: string;
}

/** For each session id that goes on an earlier one: the id of that one. */
export function joinSessions(calls: readonly JoinFacts[]): Map<string, string> {
  const joined = new Map<string, string>();
  const byAfter = new Map<string, JoinFacts[]>();
  const continued = new Set<string>();
  const seen = new Set<string>();
  const resolve = (id: string): string => {
    const target = joined.get(id);
    return target === undefined ? id : resolve(target);
  };
  for (const call of [...calls].sort(compareStarts)) {
    const { sessionId, chain } = call;
    if (sessionId === undefined) continue;
    const isFirst = !seen.has(sessionId);
    seen.add(sessionId);
    if (chain?.before !== undefined) {
      const before = (byAfter.get(chain.before) ?? []).filter((candidate) => candidate.sessionId !== sessionId);
      if (isFirst && call.basis !== 'declared') {
        const from = choose(
          call,
          before.filter((candidate) => candidate.origin !== call.origin),
          continued,
        );
        if (from?.sessionId !== undefined) {
          joined.set(sessionId, resolve(from.sessionId));
          continued.add(from.spanId);
        }
      }
    }
    if (chain?.after !== undefined) {
      const list = byAfter.get(chain.after);
      if (list) list.push(call);
      else byAfter.set(chain.after, [call]);
    }
  }
  return new Map([...joined.keys()].map((id) => [id, resolve(id)]));
}

/** The one of the same trace, else the only or newest that nobody has continued; undefined where it stays a guess. */
function choose(call: JoinFacts, candidates: JoinFacts[], continued: ReadonlySet<string>): JoinFacts | undefined {
  const sameTrace = candidates.filter((candidate) => candidate.traceId === call.traceId);
  const pool = sameTrace.length > 0 ? sameTrace : candidates;
  const free = pool.filter((candidate) => !continued.has(candidate.spanId));
  // Equal conversations in several sessions cannot be told apart: no join is better than a wrong one.
  const sessions = new Set(pool.map((candidate) => candidate.sessionId));
  if (sessions.size > 1) return undefined;
  return free.at(-1) ?? pool.at(-1);
}
