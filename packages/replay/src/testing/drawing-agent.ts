/** A program as agents are: its requests hold what it drew. Run twice with other draws, it asks for the same. */
import type { AskedRequest, OutsideValue } from '../matching/types.ts';
import { asked } from './requests.ts';

/** A draw in its order, and the requests made so far when it came. */
export interface AgentDraw {
  value: OutsideValue;
  source: string;
  at: string;
  before: number;
}

/** What one run drew and asked for. */
export interface AgentRun {
  draws: AgentDraw[];
  requests: AskedRequest[];
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Any row of 64 characters will do. */
const ALPHABET_64 = 'zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA9876543210_-';

/** Numbers from 0 to 1 by a seed. */
export function seeded(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

/** Runs the agent for some turns. */
export function runAgent(seed: number, turns = 8): AgentRun {
  const random = seeded(seed);
  const run: AgentRun = { draws: [], requests: [] };
  const draw = <T extends OutsideValue>(source: string, at: string, value: T): T => {
    run.draws.push({ value, source, at: `${at}:1`, before: run.requests.length });
    return value;
  };
  const bytes = (size: number): Buffer => Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)));
  const uuid = (): string =>
    bytes(16)
      .toString('hex')
      .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-a$4-$5');
  const toss = (): number => draw('Math.random', 'agent.mjs:9', random());
  let clockMs = 1_780_000_000_000 + Math.floor(random() * 80_000_000_000);
  const now = (at: string): number => {
    clockMs += 1 + Math.floor(random() * 900);
    return draw('Date.now', at, clockMs);
  };

  const session = draw('crypto.randomUUID', 'agent.mjs:3', uuid());
  const user = draw('crypto.randomUUID', 'agent.mjs:4', uuid());
  const directory = draw('fs.mkdtemp', 'agent.mjs:5', `/tmp/agent-${bytes(3).toString('hex')}`);
  const label = Array.from({ length: 16 }, () => DIGITS.charAt(Math.floor(toss() * 62))).join('');
  const pool = draw('crypto.getRandomValues', 'agent.mjs:6', bytes(64));
  const nano = [...pool.subarray(21, 42)].map((byte) => ALPHABET_64.charAt(byte & 63)).join('');
  const started = new Date(now('agent.mjs:7'));
  const tools = [
    { type: 'function', function: { name: 'save', description: `Saves into ${directory} for session ${session}.` } },
  ];
  const messages: unknown[] = [
    {
      role: 'system',
      content:
        `You serve session ${session} of user ${user} (${label}). Today is ${started.toISOString().slice(0, 10)}, ` +
        `it began at ${started.toISOString()}, ${started.toUTCString()}, on ${started.toLocaleString('en-US', { timeZone: 'UTC' })}. ` +
        `Keep files in ${directory}/notes. Trace ${nano}.`,
    },
    { role: 'user', content: 'Plan my trip to Lisbon in 3 days with 2 friends.' },
  ];
  for (let turn = 0; turn < turns; turn++) {
    const body = {
      model: 'gpt-4o-mini',
      messages: [...messages],
      tools,
      user,
      metadata: { turn, session: session.slice(0, 8) },
    };
    run.requests.push(asked({ body }));
    const begin = now('tools.mjs:20');
    const took = now('tools.mjs:24') - begin;
    const file = `${directory}/notes/${toss().toString(36).slice(2, 10)}.md`;
    messages.push(
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: `call_${turn}aB3dE5fG7hJ9kL`, type: 'function', function: { name: 'save', arguments: '{"day":1}' } },
        ],
      },
      {
        role: 'tool',
        tool_call_id: `call_${turn}aB3dE5fG7hJ9kL`,
        content: JSON.stringify({ file, took_ms: took, seconds: (took / 1000).toFixed(2), at: begin, ok: true }),
      },
    );
  }
  return run;
}
