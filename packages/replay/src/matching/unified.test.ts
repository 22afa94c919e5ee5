import { describe, expect, it } from 'vitest';
import { type AgentRun, runAgent, seeded } from '../testing/drawing-agent.ts';
import { asked, onRecord } from '../testing/requests.ts';
import { createMatcher } from './matcher.ts';
import type { AskedRequest, Matcher, MatchResult, OutsideValue, RecordedRequest } from './types.ts';

const AUTHORIZATION = 'Bearer {{secret:env.OPENAI_API_KEY}}';

function recordOf({ requests }: AgentRun): RecordedRequest[] {
  return requests.map((request, index) => ({
    ...request,
    headers: request.headers.map(([name, value]) => [name, name === 'authorization' ? AUTHORIZATION : value]),
    index,
    attempt: 0,
  }));
}

/** Teaches a matcher the draws that came before a request. */
function learnUpTo(matcher: Matcher, recorded: AgentRun, live: AgentRun, request: number): void {
  for (const [i, draw] of recorded.draws.entries()) {
    const other = live.draws[i];
    if (draw.before === request && other) matcher.learn(draw.value, other.value, { source: draw.source, at: draw.at });
  }
}

/** Runs the live agent against the recorded one; one of its requests is changed by the way. */
function replay(
  recorded: AgentRun,
  live: AgentRun,
  change?: { at: number; request: AskedRequest },
): { results: MatchResult[]; matcher: Matcher } {
  const matcher = createMatcher(recordOf(recorded));
  const results: MatchResult[] = [];
  for (const [i, request] of live.requests.entries()) {
    learnUpTo(matcher, recorded, live, i);
    results.push(matcher.match(change?.at === i ? change.request : request));
    if (results.at(-1)?.kind === 'missed') break;
  }
  return { results, matcher };
}

describe('a program with other draws', () => {
  it('is served on every turn, as recorded', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { results, matcher } = replay(runAgent(seed), runAgent(seed + 100));
      const story = results.map((result) => (result.kind === 'matched' ? `${result.index} ${result.rung}` : result));
      expect(story).toEqual(Array.from({ length: 8 }, (_, i) => `${i} unified`));
      expect(matcher.report().unifiedValues).toBeGreaterThan(5);
    }
  });

  it('is served when its history is longer than the draws that are looked through', () => {
    const [recorded, live] = [runAgent(3, 80), runAgent(4, 80)];
    const { results } = replay(recorded, live);
    expect(results.filter((result) => result.kind === 'matched' && result.rung === 'unified')).toHaveLength(80);
  });

  it('is served exactly with the same draws', () => {
    const { results } = replay(runAgent(5), runAgent(5));
    expect(results.map((result) => result.kind === 'matched' && result.rung)).toEqual(Array(8).fill('exact'));
  });
});

/** Ids and paths of a run, in the order of its draws. */
function idsOf({ draws }: AgentRun): string[] {
  return draws.map(({ value }) => value).filter((value) => typeof value === 'string');
}

type Change = (text: string, random: () => number, live: AgentRun, recorded: AgentRun) => string;

const pick = <T>(list: readonly T[], random: () => number): T => list[Math.floor(random() * list.length)] as T;

/** Where a pattern is found in a text, at one of the places. */
function changeOne(text: string, pattern: RegExp, random: () => number, change: (found: string) => string): string {
  const found = [...text.matchAll(pattern)];
  if (found.length === 0) return text;
  const match = pick(found, random);
  return text.slice(0, match.index) + change(match[0]) + text.slice(match.index + match[0].length);
}

const CHANGES: { [name: string]: Change } = {
  'two ids swapped everywhere': (text, _random, live) => {
    const [a = '', b = ''] = idsOf(live).slice(0, 2);
    return text.replaceAll(a, '\0').replaceAll(b, a).replaceAll('\0', b);
  },
  'two ids swapped in one place each': (text, random, live) => {
    const [a = '', b = ''] = idsOf(live).slice(0, 2);
    return changeOne(
      changeOne(text, new RegExp(a, 'g'), random, () => '\0'),
      new RegExp(b, 'g'),
      random,
      () => a,
    ).replace('\0', b);
  },
  'one id for another': (text, random, live) => {
    const [a = '', b = ''] = idsOf(live).slice(0, 2);
    return changeOne(text, new RegExp(a, 'g'), random, () => b);
  },
  'an id of the recorded run': (text, random, live, recorded) => {
    const at = Math.floor(random() * 3);
    return changeOne(text, new RegExp(idsOf(live)[at] ?? '', 'g'), random, () => idsOf(recorded)[at] ?? '');
  },
  'a digit of an id': (text, random) =>
    changeOne(text, /[0-9a-f]{8}-[0-9a-f]{4}/g, random, (id) => (id.startsWith('0') ? '1' : '0') + id.slice(1)),
  'a character of a drawn name': (text, random) =>
    changeOne(
      text,
      /[a-z0-9]{7}(?=\.md)|[A-Za-z0-9]{16}(?=\))/g,
      random,
      (id) => (id.startsWith('q') ? 'r' : 'q') + id.slice(1),
    ),
  'a tool call id': (text, random) =>
    changeOne(text, /call_\d/g, random, (id) => `call_${(Number(id.at(-1)) + 1) % 10}`),
  'a word': (text, random) =>
    changeOne(text, /Lisbon|Saves|friends|"save"|system/g, random, (word) => `${word.slice(0, -1)}x`),
  'a number': (text, random) =>
    changeOne(text, /in 3 days|with 2 friends|\\"day\\":1/g, random, (found) => found.replace(/\d/, '7')),
  'a directory': (text, random) => changeOne(text, /\/tmp\/agent-/g, random, () => '/etc/agent-'),
  'a date': (text, random) => changeOne(text, /Today is \d{4}/g, random, () => 'Today is 1999'),
  'a duration': (text, random) =>
    changeOne(text, /took_ms\\":\d+/g, random, (found) => `${found.slice(0, -1)}${(Number(found.at(-1)) + 3) % 10}`),
  'a word that was left out': (text, random) => changeOne(text, / of user| serve|,\\"ok\\":true/g, random, () => ''),
  'a text for a number': (text, random) =>
    changeOne(text, /"turn":\d/g, random, (found) => found.replace(/\d/, '"$&"')),
};

describe('one thing that is not as it was', () => {
  for (const isPinned of [true, false]) {
    it(`stops the run, with ${isPinned ? 'the same' : 'other'} draws: no wrong answer in 210 changed runs`, () => {
      const outcome = { stopped: 0, served: [] as string[] };
      const names = Object.keys(CHANGES);
      for (let i = 0; i < 210; i++) {
        const random = seeded(1000 + i);
        const recorded = runAgent(i + 1);
        const live = isPinned ? recorded : runAgent(i + 5000);
        const name = names[i % names.length] as string;
        // The first request has no tool results yet.
        const at = 1 + Math.floor(random() * 7);
        const request = live.requests[at] as AskedRequest;
        const text = Buffer.from(request.body).toString();
        const changed = (CHANGES[name] as Change)(text, random, live, recorded);
        if (changed === text) {
          // With the same draws an id of the recorded run is the live one.
          expect(isPinned && name).toBe('an id of the recorded run');
          outcome.stopped += 1;
          continue;
        }
        const { results } = replay(recorded, live, { at, request: { ...request, body: Buffer.from(changed) } });
        if (results.length === at + 1 && results.at(-1)?.kind === 'missed') outcome.stopped += 1;
        else outcome.served.push(`${name} in run ${i}`);
      }
      expect(outcome).toEqual({ stopped: 210, served: [] });
    });
  }

  it('stops the run at its first request too', () => {
    for (let i = 0; i < 40; i++) {
      const recorded = runAgent(i + 1);
      const live = runAgent(i + 900);
      const request = live.requests[0] as AskedRequest;
      const [a = '', b = ''] = idsOf(live);
      const text = Buffer.from(request.body).toString().replaceAll(a, '\0').replaceAll(b, a).replaceAll('\0', b);
      const { results } = replay(recorded, live, { at: 0, request: { ...request, body: Buffer.from(text) } });
      expect(results).toMatchObject([{ kind: 'missed', reason: 'changed' }]);
    }
  });
});

describe('values', () => {
  function unified(
    recorded: unknown,
    live: unknown,
    ...learned: [recorded: OutsideValue, live: OutsideValue, source?: string][]
  ): string {
    const matcher = createMatcher(onRecord({ body: { v: recorded } }));
    for (const [one, other, source] of learned) matcher.learn(one, other, source === undefined ? {} : { source });
    const result = matcher.match(asked({ body: { v: live } }));
    return result.kind === 'matched' ? result.rung : result.kind;
  }

  it('differ only where a draw says so', () => {
    expect(unified('id 1b9d6bcd-0001-4abc-8abc-0123456789ab', 'id 2c8e7ade-0001-4abc-8abc-0123456789ab')).toBe(
      'missed',
    );
    expect(unified('2026-07-30', '2026-07-31')).toBe('missed');
    expect(unified('/tmp/a-AbC123/x', '/tmp/a-XyZ789/x')).toBe('missed');
    expect(unified('/tmp/a-AbC123/x', '/tmp/a-XyZ789/x', ['/tmp/a-AbC123', '/tmp/a-XyZ789'])).toBe('unified');
    expect(unified('/tmp/a-AbC123/x', '/tmp/a-XyZ789/y', ['/tmp/a-AbC123', '/tmp/a-XyZ789'])).toBe('missed');
  });

  it('may be names of members', () => {
    const pair: [string, string] = ['/tmp/a-AbC123', '/tmp/a-XyZ789'];
    expect(unified({ b: 1, '/tmp/a-AbC123/x': 2 }, { b: 1, '/tmp/a-XyZ789/x': 2 }, pair)).toBe('unified');
    expect(unified({ b: 1, '/tmp/a-AbC123/x': 2 }, { b: 1, '/tmp/a-XyZ789/x': 3 }, pair)).toBe('missed');
  });

  it('are not two for one, nor one for two', () => {
    const [a, b] = ['1b9d6bcd-0001-4abc-8abc-0123456789ab', '1b9d6bcd-0002-4abc-8abc-0123456789ab'];
    const [x, y] = ['2c8e7ade-0001-4abc-8abc-0123456789ab', '2c8e7ade-0002-4abc-8abc-0123456789ab'];
    expect(unified([a, b], [x, y], [a, x], [b, y])).toBe('unified');
    expect(unified([a, b], [y, x], [a, x], [b, y])).toBe('missed');
    expect(unified([a, b], [x, x], [a, x], [b, y])).toBe('missed');
    expect(unified([a, a], [x, y], [a, x], [b, y])).toBe('missed');
    expect(unified([a, a], [x, a], [a, x])).toBe('missed');
    expect(unified([a, b], [x, x], [a, x], [b, x])).toBe('missed');
  });

  it('are not two for one, nor one for two, where they are made of draws', () => {
    const [one, other] = [0.123456789, 0.987654321];
    expect(unified([123456, 987654], [555555, 777777], [one, 0.5555555], [other, 0.7777777])).toBe('unified');
    expect(unified([123456, 987654], [555555, 555555], [one, 0.5555555], [other, 0.5555555])).toBe('missed');
    expect(unified([123456, 123456], [555555, 777777], [one, 0.5555555], [one, 0.7777777])).toBe('missed');
  });

  it('that an answer told stand for themselves beside the program’s own', () => {
    const [a, x] = ['1b9d6bcd-0001-4abc-8abc-0123456789ab', '2c8e7ade-0001-4abc-8abc-0123456789ab'];
    const matcher = createMatcher(onRecord({ body: [a, `echo ${a}`] }, { body: [a, `echo ${a}`] }));
    matcher.learn(a, x);
    expect(matcher.match(asked({ body: [x, `echo ${a}`] })).kind).toBe('missed');
    matcher.noteServed(`{"echo":"${a}"}`);
    expect(matcher.match(asked({ body: [x, `echo ${a}`] }))).toMatchObject({ rung: 'unified' });
  });

  it('are durations between two readings of one clock', () => {
    const clock: [number, number, string][] = [[1_780_000_000_000, 1_790_000_000_000, 'Date.now'], [1_780_000_000_120, 1_790_000_000_344, 'Date.now']]; // biome-ignore format: pairs
    expect(unified(120, 344, ...clock)).toBe('unified');
    expect(unified('took 0.12s', 'took 0.34s', ...clock)).toBe('unified');
    expect(unified('took 120ms', 'took 344ms', ...clock)).toBe('unified');
    expect(unified('took 120ms', 'took 345ms', ...clock)).toBe('missed');
    expect(unified('took 121ms', 'took 344ms', ...clock)).toBe('missed');
  });

  it('are readings of a clock in one form: rounded as they were, and nothing else', () => {
    const clock: [number, number, string][] = [[0.4, 1.1, 'performance.now'], [12.74, 99.26, 'performance.now']]; // biome-ignore format: pairs
    const same: [number, number, string][] = [[0.4, 0.4, 'performance.now'], [12.74, 12.74, 'performance.now']]; // biome-ignore format: pairs
    for (const form of [
      Math.round,
      Math.floor,
      Math.ceil,
      (ms: number) => ms.toFixed(1),
      (ms: number) => Math.round(ms * 10) / 10,
    ]) {
      expect(unified(form(12.34), form(98.16), ...clock)).toBe('unified');
      expect(unified(form(12.34), form(12.34), ...same)).toBe('exact');
    }
    expect(unified(12, 99, ...clock)).toBe('missed');
    expect(unified('12.3', '98', ...clock)).toBe('missed');
    expect(unified(12, 13, ...same)).toBe('missed');
    expect(unified('12', '12.3', ...same)).toBe('missed');
  });

  it('are what is written of drawn numbers and bytes', () => {
    expect(unified(String((0.123456789).toString(36).slice(2, 10)), String((0.987654321).toString(36).slice(2, 10)), [0.123456789, 0.987654321])).toBe('unified'); // biome-ignore format: one line
    expect(unified(123456, 987654, [0.123456789, 0.987654321])).toBe('unified');
    expect(unified(123456, 987655, [0.123456789, 0.987654321])).toBe('missed');
    expect(unified('deadbeef', '0badcafe', [Buffer.from('deadbeef', 'hex'), Buffer.from('0badcafe', 'hex')])).toBe(
      'unified',
    );
    expect(unified('pid 4321', 'pid 978', [4321, 978, 'pid'])).toBe('missed');
    expect(unified('pid 4321', 'pid 9786', [4321, 9786, 'pid'])).toBe('unified');
  });

  it('never turn a number into a text', () => {
    expect(unified(123456, '987654', [0.123456789, 0.987654321])).toBe('missed');
  });
});
