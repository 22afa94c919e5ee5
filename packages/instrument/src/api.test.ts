import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Level } from '@orangebox/schema';
import { agent, level, session, setLevel, step, suppress, tool } from './api.ts';
import { installInstrumentation } from './install.ts';
import { createMemorySink, type MemorySink } from './memory-sink.ts';
import type { Runtime } from './runtime.ts';

let sink: MemorySink;
let runtime: Runtime | undefined;
let server: Server;
let url: string;

beforeEach(async () => {
  sink = createMemorySink();
  runtime = installInstrumentation({ loadSink: () => sink, env: {} });
  server = createServer((request, response) => {
    request.resume().on('end', () => response.end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  url = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1/chat/completions`;
});
afterEach(async () => {
  runtime?.uninstall();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const call = async (): Promise<string> =>
  (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })).text();
const scopes = (): string[] =>
  sink.exchanges.map((e) => e.start.context.scope.map((f) => `${f.kind}:${f.name}`).join('>'));

describe('scopes', () => {
  it('nest and reach what is awaited within', async () => {
    await agent('planner', async () => {
      await call();
      await step('search', async () => {
        await call();
      });
    });
    await call();
    expect(scopes()).toEqual(['agent:planner', 'agent:planner>step:search', '']);
  });

  it('keep parallel branches of one name apart', async () => {
    await Promise.all([1, 2, 3].map(() => step('branch', call)));
    const ids = sink.exchanges.map((e) => e.start.context.scope[0]?.id);
    expect(new Set(ids).size).toBe(3);
    expect(new Set(sink.exchanges.map((e) => e.start.context.place)).size).toBe(3);
  });

  it('carry the declared session with user and metadata', async () => {
    await session({ id: 's1', userId: 'u1', metadata: { plan: 'pro' } }, () => step('a', call));
    const [first] = sink.exchanges;
    expect(first?.start.context.session).toEqual({ id: 's1', userId: 'u1', metadata: { plan: 'pro' } });
  });

  it('declare no session where the id is missing, as without the preload', async () => {
    for (const options of [undefined, null, {}, { id: undefined, userId: 'u1' }])
      await session(options as unknown as { id: string }, call);
    expect(sink.exchanges.map((e) => e.start.context.session)).toEqual(Array(4).fill(undefined));
  });

  it('say which call misses its function, with and without the preload', () => {
    const wrong = (run: (...args: never[]) => unknown, ...args: unknown[]): (() => unknown) => {
      return () => Reflect.apply(run, undefined, args);
    };
    const check = (): void => {
      expect(wrong(agent, () => 1)).toThrow(new TypeError('agent(name, fn): fn is not a function'));
      expect(wrong(step, 'x')).toThrow(new TypeError('step(name, fn): fn is not a function'));
      expect(wrong(session, { id: 's' })).toThrow(new TypeError('session(options, fn): fn is not a function'));
      expect(wrong(suppress)).toThrow(new TypeError('suppress(fn): fn is not a function'));
      expect(wrong(tool, () => 1)).toThrow(new TypeError('tool(name, fn): fn is not a function'));
    };
    check();
    runtime?.uninstall();
    check();
  });

  it('hand back what fn returns, the same object, and throw what it throws', () => {
    const value = {};
    const error = new Error('mine');
    expect(session({ id: 'x' }, () => agent('a', () => step('b', () => suppress(() => value))))).toBe(value);
    expect(() =>
      step('b', () => {
        throw error;
      }),
    ).toThrow(error);
  });

  it('record nothing within suppress', async () => {
    await suppress(call);
    expect(sink.exchanges).toEqual([]);
    await call();
    expect(sink.exchanges.length).toBe(1);
  });
});

describe('tool', () => {
  it('notes arguments and result, and is the parent of calls within', async () => {
    const weather = tool('weather', async (city: string) => {
      await call();
      return { city, degrees: 20 };
    });
    await expect(weather('Bern')).resolves.toEqual({ city: 'Bern', degrees: 20 });
    const [run] = sink.tools;
    expect(run).toMatchObject({ name: 'weather', args: ['Bern'], result: { city: 'Bern', degrees: 20 } });
    expect(run?.endUnixNano).toBeGreaterThan(run?.startUnixNano ?? 0n);
    expect(sink.exchanges[0]?.start.context.parent).toEqual({
      traceId: run?.trace.traceId,
      spanId: run?.trace.spanId,
    });
    expect(scopes()).toEqual(['tool:weather']);
  });

  it('keeps name, length, this and synchronous results', () => {
    const counter = {
      by: 3,
      add: tool('add', function add(this: { by: number }, n: number) {
        return this.by + n;
      }),
    };
    expect([counter.add(4), counter.add.name, counter.add.length]).toEqual([7, 'add', 1]);
    expect(sink.tools[0]?.result).toBe(7);
  });

  it('passes errors on, thrown and rejected, and notes them', async () => {
    const thrown = new Error('thrown');
    const rejected = new Error('rejected');
    const throws = tool('throws', () => {
      throw thrown;
    });
    expect(() => throws()).toThrow(thrown);
    await expect(tool('rejects', () => Promise.reject(rejected))()).rejects.toBe(rejected);
    expect(sink.tools.map((run) => run.error)).toEqual([thrown, rejected]);
  });

  it('leaves a rejection that nobody handles unhandled', async () => {
    const seen: unknown[] = [];
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    const reason = new Error('nobody');
    await new Promise<void>((resolve) => {
      process.once('unhandledRejection', (error) => {
        seen.push(error);
        resolve();
      });
      void tool('lonely', () => Promise.reject(reason))();
    });
    for (const listener of others) process.on('unhandledRejection', listener);
    expect(seen).toEqual([reason]);
  });

  it('hands generators on untouched', () => {
    const made = (function* () {
      yield 1;
    })();
    const generator = tool('gen', () => made)();
    expect(generator).toBe(made);
    expect([...generator]).toEqual([1]);
    expect(sink.tools.length).toBe(1);
  });

  it('never touches a thenable of another class', () => {
    let touched = 0;
    class Lazy extends Promise<number> {
      override then<A, B>(
        ok?: ((value: number) => A | PromiseLike<A>) | null,
        failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
      ): Promise<A | B> {
        touched++;
        return super.then(ok, failed);
      }
    }
    const lazy = new Lazy((resolve) => resolve(1));
    expect(tool('lazy', () => lazy)()).toBe(lazy);
    expect(touched).toBe(0);
  });

  it('nests: an inner tool has the outer as its parent, in one trace', () => {
    const inner = tool('inner', () => 1);
    tool('outer', () => inner())();
    const [first, second] = sink.tools;
    expect(first?.name).toBe('inner');
    expect(first?.trace.parentSpanId).toBe(second?.trace.spanId);
    expect(first?.trace.traceId).toBe(second?.trace.traceId);
  });

  it('joins the trace that the recorder knows', () => {
    sink.traceOf = () => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) });
    return call().then(() => {
      tool('late', () => 1)();
      expect(sink.tools[0]?.trace).toMatchObject({ traceId: 'a'.repeat(32), parentSpanId: 'b'.repeat(16) });
    });
  });
});

describe('without the preload', () => {
  it('every function just calls fn', async () => {
    runtime?.uninstall();
    const double = tool('double', (n: number) => n * 2);
    expect(session({ id: 'x' }, () => agent('a', () => step('b', () => suppress(() => double(4)))))).toBe(8);
    await call();
    expect([sink.tools, sink.exchanges]).toEqual([[], []]);
  });
});

describe('the level', () => {
  it('is what the recorder says, and set there, also before the first call', () => {
    expect(level()).toBe('full');
    const said: Level[] = [];
    Object.assign(sink, { setLevel: (to: Level) => said.push(to), level: () => said.at(-1) ?? 'errors' });
    expect(level()).toBe('errors');
    setLevel('metadata');
    expect(said).toEqual(['metadata']);
    expect(level()).toBe('metadata');
  });

  it('is off without the preload, where it can be set to no effect', () => {
    runtime?.uninstall();
    expect(level()).toBe('off');
    setLevel('full');
    expect(level()).toBe('off');
  });

  it('is one of four, with and without the preload', () => {
    const wrong = 'verbose' as Level;
    expect(() => setLevel(wrong)).toThrow(
      new TypeError('setLevel(level): level is not one of full, metadata, errors, off'),
    );
    runtime?.uninstall();
    expect(() => setLevel(wrong)).toThrow(TypeError);
  });

  it('that a failing recorder is asked for does not reach the program', () => {
    const fails = (): never => {
      throw new Error('mine');
    };
    Object.assign(sink, { setLevel: fails, level: fails });
    setLevel('full');
    expect(level()).toBe('off');
  });
});
