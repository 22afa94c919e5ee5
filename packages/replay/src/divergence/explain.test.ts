import { createRedactor } from '@orangebox/codec';
import { describe, expect, it } from 'vitest';
import { createMatcher } from '../matching/matcher.ts';
import { asked, onRecord } from '../testing/requests.ts';
import { divergenceText } from './divergence-text.ts';
import { explainDivergence, kindOfMiss } from './explain.ts';
import { tokenDiff } from './token-diff.ts';
import type { Divergence, DivergenceContext, Draw } from './types.ts';

interface Chat {
  system?: string;
  user?: string;
  tool?: string;
  description?: string;
  extra?: object;
}

const chat = ({
  system = 'You plan trips.',
  user = 'Lisbon',
  tool = '{"degrees":21}',
  description = 'Weather',
  extra = {},
}: Chat = {}): object => ({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: system },
    { role: 'user', content: user },
    {
      role: 'assistant',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: tool },
  ],
  tools: [{ type: 'function', function: { name: 'weather', description } }],
  ...extra,
});

/** What is said when a program asks for `live` where `recorded` was on record. */
function diverge(live: object, known: Partial<DivergenceContext> = {}, recorded: object = chat()): Divergence {
  const record = onRecord({ body: recorded }, { body: chat({ user: 'What next?' }) }).map((request) => ({
    ...request,
    ref: `3310c60fd7f1131${request.index}`,
  }));
  const request = asked({ body: live });
  const miss = createMatcher(record).match(request);
  if (miss.kind === 'matched') throw new Error('it is the recorded request');
  return explainDivergence({
    kind: kindOfMiss(miss.reason),
    event: 12,
    step: 1,
    scope: ['agent:planner'],
    asked: request,
    miss,
    recorded: record,
    run: 'run-1',
    ...known,
  });
}

const differing = (name: string): { name: string; recorded: string; live: string }[] => [
  { name, recorded: 'aa', live: 'bb' },
];
const draw = (source: string, value: string, at = 'agent.mjs:3:9', seq = 4): Draw => ({ seq, source, value, at });

describe('the cause of a changed request', () => {
  const causes: [name: string, cause: string, live: object, known: Partial<DivergenceContext>][] = [
    ['an edited prompt', 'code', chat({ system: 'You plan long trips.' }), { files: differing('agent.mjs') }],
    ['an edited schema', 'code', chat({ description: 'Weather of a city' }), { files: differing('tools.ts') }],
    ['an edit that no file shows', 'code', chat({ user: 'Porto' }), {}],
    ['another SDK', 'package', chat({ extra: { store: false } }), { versions: differing('openai') }],
    ['another tool result', 'tool_result', chat({ tool: '{"degrees":25}' }), {}],
    ['a tool that was edited', 'tool_result', chat({ tool: '{"degrees":25}' }), { files: differing('tools.mjs') }],
    ['a file that a tool reads', 'file', chat({ tool: '{"degrees":25}' }), { files: differing('data/weather.json') }],
    ['a prompt in a file', 'file', chat({ system: 'You plan long trips.' }), { files: differing('prompt.md') }],
    [
      'a variable by its value',
      'environment',
      chat({ user: 'Lisbon in Swahili' }),
      { environment: [{ name: 'LANG_NAME', recorded: 'Danish', live: 'Swahili' }] },
    ],
    [
      'a variable that is known by its hash only',
      'environment',
      chat({ user: 'Porto' }),
      { environment: [{ ...differing('CITY')[0], name: 'CITY', isHashed: true }] },
    ],
    [
      'a clock',
      'clock',
      chat({ system: 'Today is 2026-08-01.' }),
      {
        recordedDraws: [draw('Date.now', '1780000000000')],
        liveDraws: [draw('Date.now', String(Date.UTC(2026, 7, 1, 9)))],
      },
    ],
    [
      'a random id',
      'random',
      chat({ system: 'Session 9b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed.' }),
      { recordedDraws: [], liveDraws: [draw('crypto.randomUUID', '9b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed')] },
    ],
    [
      'two ids that changed places: both draws are as recorded',
      'code',
      chat({ system: 'Session 9b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed.' }),
      {
        recordedDraws: [draw('crypto.randomUUID', '9b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed')],
        liveDraws: [draw('crypto.randomUUID', '9b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed')],
      },
    ],
  ];
  for (const [name, cause, live, known] of causes) {
    it(`is told: ${name}`, () =>
      expect(diverge(live, known)).toMatchObject({ kind: 'changed_request', cause, step: 1 }));
  }

  it('is the order, an extra or a missing request where it is that', () => {
    expect(diverge(chat({ user: 'What next?' }))).toMatchObject({ kind: 'reordered', cause: 'order' });
    expect(diverge({ ping: 1 })).toMatchObject({ kind: 'extra', cause: 'extra' });
    expect(diverge({ ping: 1 }, { kind: 'missing' })).toMatchObject({ cause: 'missing' });
  });
});

describe('a divergence', () => {
  it('shows the leaf, the words that changed in it, and where the new one came from', () => {
    const said = diverge(chat({ user: 'Lisbon in Swahili' }), {
      environment: [{ name: 'LANG_NAME', recorded: 'Danish', live: 'Swahili' }],
      matched: Array.from({ length: 14 }, (_, i) => ({
        event: i,
        scope: [],
        what: `GET h/${i}`,
        rung: 'exact' as const,
      })),
      consequences: ['a', 'b'],
    });
    expect(said).toMatchObject({
      differences: [
        {
          path: 'body.messages[1].content',
          tokens: [
            { op: 'same', text: 'Lisbon' },
            { op: 'live', text: ' in Swahili' },
          ],
        },
      ],
      origins: [{ side: 'live', value: 'Swahili', class: 'environment', where: 'environment variable LANG_NAME' }],
      nearest: [{ index: 0, what: 'POST api.openai.com/v1/chat/completions', differences: 1 }, { index: 1 }],
      folded: 2,
    });
    expect(divergenceText(said)).toBe(`\
diverged at step 1, event 12: changed request
  POST api.openai.com/v1/chat/completions is not the request on record; the next on record is request 1, POST api.openai.com/v1/chat/completions
  scope: agent:planner
  likely cause: environment
  body.messages[1].content
    - Lisbon
    + Lisbon⟦ in Swahili⟧
  where values came from:
    body.messages[1].content (live): "Swahili" from environment variable LANG_NAME
  last matched:
    4 GET h/4 (exact)
    5 GET h/5 (exact)
    6 GET h/6 (exact)
    7 GET h/7 (exact)
    8 GET h/8 (exact)
    9 GET h/9 (exact)
    10 GET h/10 (exact)
    11 GET h/11 (exact)
    12 GET h/12 (exact)
    13 GET h/13 (exact)
  nearest on record:
    request 1, POST api.openai.com/v1/chat/completions: 1 difference
    request 2, POST api.openai.com/v1/chat/completions: 1 difference
  2 more that follow from it
  next:
    orangebox show 3310c60fd7f11310
    orangebox replay run-1 --rules rules.json -- …    # [{"at": "body.messages[1].content", "reason": "why it says nothing"}]
`);
  });

  it('names the answer that a value stood in', () => {
    const said = diverge(chat({ user: 'Lisbon by tram-28E' }), { answers: [{ index: 3, text: 'Take tram-28E.' }] });
    expect(said.origins).toContainEqual(expect.objectContaining({ class: 'answer', where: 'answer 4' }));
  });

  it('names the first draw that was another, and a changed number of draws', () => {
    const one = [draw('Date.now', '1'), draw('Math.random', '0.1', 'agent.mjs:9:1', 7)];
    const said = (recordedDraws: Draw[], liveDraws: Draw[]): string | undefined =>
      diverge(chat({ user: 'Porto' }), { recordedDraws, liveDraws }).suspicious?.message;
    expect(said(one, one)).toBeUndefined();
    expect(said(one, [one[0] as Draw, draw('Date.now', '2', 'b.mjs:1:1')])).toBe(
      'draw 2 was Math.random at agent.mjs:9:1 on record and is Date.now at b.mjs:1:1 now',
    );
    expect(said(one, [...one, draw('crypto.randomUUID', 'x', 'c.mjs:2:3')])).toBe(
      '3 values were drawn, on record 2; the first that is new is crypto.randomUUID at c.mjs:2:3',
    );
  });

  it('shows no secret and no control character', () => {
    const key = 'sk-proj-0123456789abcdefghij';
    const redactor = createRedactor({ secrets: [{ name: 'env.KEY', value: key }] });
    const [record] = onRecord({ body: { q: 'a' } });
    const request = asked({
      url: 'https://h/v1/x?access_token=tok-123456789012',
      headers: [['x-api-key', 'short'], ['cookie', 'sid=abcdefgh12345678']],
      body: { q: `\u001b[2J ${key}`, client_secret: 'very secret value' },
    }); // biome-ignore format: a request
    const miss = createMatcher([record as never]).match(request);
    if (miss.kind === 'matched') throw new Error('matched');
    const said = explainDivergence(
      { kind: 'changed_request', event: 1, step: 1, scope: [], asked: request, miss },
      redactor,
    );
    const text = divergenceText(said) + JSON.stringify(said);
    for (const secret of [key, 'short', 'abcdefgh12345678', 'very secret value', 'tok-123456789012']) {
      expect(text).not.toContain(secret);
    }
    expect(divergenceText(said)).not.toContain('\u001b');
  });

  it('of huge values stays small and quick', () => {
    const started = performance.now();
    const said = diverge(chat({ user: 'x y '.repeat(500_000) }), {}, chat({ user: 'y z '.repeat(500_000) }));
    expect(JSON.stringify(said).length).toBeLessThan(200_000);
    expect(performance.now() - started).toBeLessThan(5000);
  });
});

describe('a diff of words', () => {
  it('keeps what is equal, cut to what stands beside a change', () => {
    expect(tokenDiff('a b c', 'a x c')).toEqual([
      { op: 'same', text: 'a ' },
      { op: 'recorded', text: 'b' },
      { op: 'live', text: 'x' },
      { op: 'same', text: ' c' },
    ]);
    expect(tokenDiff('', 'new')).toEqual([{ op: 'live', text: 'new' }]);
    expect(tokenDiff(`${'w '.repeat(100)}old`, `${'w '.repeat(100)}new`)[0]?.text).toMatch(/^….{40}$/);
  });
});
