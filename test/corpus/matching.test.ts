/** The matcher of replayed runs against recorded traffic; skipped, and said so, where the recordings are not at hand. */
import { describe, expect, test } from 'vitest';
import {
  JsonMembers,
  JsonNumber,
  type LosslessJson,
  losslessText,
  parseLossless,
} from '../../packages/replay/src/matching/lossless-json.ts';
import { createMatcher } from '../../packages/replay/src/matching/matcher.ts';
import type { AskedRequest, MatchResult } from '../../packages/replay/src/matching/types.ts';
import { seeded } from '../../packages/replay/src/testing/drawing-agent.ts';
import { bodyBytes, hasCorpus, loadCorpus } from './load.mjs';

/** The requests of each recorded session; some sources published answers only. */
function sessions(): AskedRequest[][] {
  const bySession = new Map<string, AskedRequest[]>();
  for (const { session_id, request } of loadCorpus()) {
    const body = bodyBytes(request);
    if (body.length === 0) continue;
    const list = bySession.get(session_id) ?? [];
    bySession.set(session_id, list);
    const url = request.origin + request.path;
    list.push({ scope: [], method: request.method, url, headers: Object.entries(request.headers), body });
  }
  return [...bySession.values()];
}

function replay(recorded: readonly AskedRequest[], live: readonly AskedRequest[]): MatchResult[] {
  const matcher = createMatcher(recorded.map((request, index) => ({ ...request, index, attempt: 0 })));
  return live.map((request) => matcher.match(request));
}

const rungOf = (result: MatchResult): string => (result.kind === 'matched' ? result.rung : result.reason);

function counted(rungs: readonly string[]): { [rung: string]: number } {
  const counts: { [rung: string]: number } = {};
  for (const rung of rungs) counts[rung] = (counts[rung] ?? 0) + 1;
  return counts;
}

/** The same value with its members the other way round; those of one name stay in their order. */
function turned(value: LosslessJson): LosslessJson {
  if (Array.isArray(value)) return value.map(turned);
  if (!(value instanceof JsonMembers)) return value;
  if (new Set(value.names).size < value.names.length) return value;
  return new JsonMembers([...value.names].reverse(), value.values.map(turned).reverse());
}

/** All leaves of a value, each with a way to put another in its place. */
function leavesOf(value: LosslessJson, put: (leaf: LosslessJson) => void, out: Leaf[] = []): Leaf[] {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) leavesOf(item, (leaf) => (value[i] = leaf), out);
  } else if (value instanceof JsonMembers) {
    for (const [i, item] of value.values.entries()) leavesOf(item, (leaf) => (value.values[i] = leaf), out);
  } else out.push({ value, put });
  return out;
}

interface Leaf {
  value: LosslessJson;
  put: (leaf: LosslessJson) => void;
}

function other(value: LosslessJson, random: () => number): LosslessJson {
  if (value instanceof JsonNumber) return new JsonNumber(String(Number(value.text) + 1));
  if (typeof value !== 'string') return value === true ? false : true;
  const at = Math.floor(random() * value.length);
  return `${value.slice(0, at)}${value[at] === 'e' ? 'a' : 'e'}${value.slice(at + 1)}`;
}

describe.skipIf(!hasCorpus())('recorded traffic', () => {
  test('asked for again is matched byte for byte, each request with its own', () => {
    const results = sessions().flatMap((session) =>
      replay(session, session).map((result, i) =>
        result.kind === 'matched' && result.index === i ? result.rung : 'not',
      ),
    );
    expect(Object.keys(counted(results))).toEqual(['exact']);
    expect(results.length).toBeGreaterThan(2400);
  });

  test('written in another way is matched in canonical form', () => {
    const results = sessions().flatMap((session) => {
      const live = session.map((request) => {
        const value = parseLossless(Buffer.from(request.body).toString());
        return value === undefined ? request : { ...request, body: Buffer.from(losslessText(turned(value))) };
      });
      return replay(session, live).map(rungOf);
    });
    const counts = counted(results);
    expect(Object.keys(counts).sort()).toEqual(['canonical', 'exact']);
    expect(counts['canonical']).toBeGreaterThan(2300);
  });

  test('of which one leaf is another is never matched', () => {
    const random = seeded(7);
    let changed = 0;
    const served: string[] = [];
    for (const session of sessions()) {
      const at = Math.floor(random() * session.length);
      const request = session[at] as AskedRequest;
      const value = parseLossless(Buffer.from(request.body).toString());
      if (value === undefined || request.body.length > 200_000) continue;
      const leaves = leavesOf(value, () => undefined);
      const leaf = leaves[Math.floor(random() * leaves.length)];
      if (leaf === undefined || leaf.value === '') continue;
      leaf.put(other(leaf.value, random));
      changed += 1;
      const live = [...session.slice(0, at), { ...request, body: Buffer.from(losslessText(value)) }];
      const result = replay(session, live).at(-1);
      if (result?.kind === 'matched') served.push(`${request.url}: ${JSON.stringify(leaf.value)}`);
    }
    expect(served).toEqual([]);
    expect(changed).toBeGreaterThan(900);
  });
});
