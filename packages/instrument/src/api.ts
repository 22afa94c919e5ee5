/** The public API: what the wire cannot show. Without the preload each function just calls `fn`. */
import { type JsonObject, type Level, LEVELS } from '@orangebox/schema';
import { unixNano } from './clock.ts';
import { randomSpanId, randomTraceId } from './ids.ts';
import { activeOtelContext, spanContextOf } from './otel-context.ts';
import { currentRuntime, type Runtime } from './runtime.ts';

/** What `session` declares. */
export interface SessionOptions {
  /** Id of the conversation; becomes `gen_ai.conversation.id`. */
  id: string;
  /** The user whose conversation it is; `orangebox purge --user` finds it. */
  userId?: string;
  /** Own tags, stored in each snapshot of the session. */
  metadata?: JsonObject;
}

/** Runs `fn` as part of a conversation: all calls in it, also in what it starts, belong to this session. */
export function session<T>(options: SessionOptions, fn: () => T): T {
  mustBeFunction(fn, 'session(options, fn)');
  const runtime = currentRuntime();
  const { id, userId, metadata } = (options as Partial<SessionOptions> | null | undefined) ?? {};
  // A session named "undefined" would put strangers together; without an id it is inferred.
  if (!runtime || id === undefined || id === null) return fn();
  const declared = {
    id: String(id),
    ...(userId === undefined ? {} : { userId: String(userId) }),
    ...(metadata === undefined ? {} : { metadata }),
  };
  return runtime.scopes.run({ session: declared }, fn);
}

/** Runs `fn` as the work of an agent of this name. Scopes nest; parallel branches are kept apart. */
export function agent<T>(name: string, fn: () => T): T {
  return inFrame('agent', name, fn);
}

/** Runs `fn` as a step of this name. */
export function step<T>(name: string, fn: () => T): T {
  return inFrame('step', name, fn);
}

/** Runs `fn` so that nothing in it is recorded. */
export function suppress<T>(fn: () => T): T {
  mustBeFunction(fn, 'suppress(fn)');
  const runtime = currentRuntime();
  return runtime ? runtime.suppress(fn) : fn();
}

/**
 * Sets the level for the calls of this thread that begin from now on; open ones go on as they began. Without the preload, or
 * where it was started with `ORANGEBOX_LEVEL=off`, nothing is there to be set.
 */
export function setLevel(level: Level): void {
  if (!LEVELS.includes(level)) throw new TypeError(`setLevel(level): level is not one of ${LEVELS.join(', ')}`);
  currentRuntime()?.setLevel(level);
}

/** The level for a call that begins now; `off` where nothing records. */
export function level(): Level {
  return currentRuntime()?.level() ?? 'off';
}

/** Said by name, and the same with and without the preload. */
function mustBeFunction(fn: unknown, call: string): void {
  if (typeof fn !== 'function') throw new TypeError(`${call}: fn is not a function`);
}

function inFrame<T>(kind: 'agent' | 'step', name: string, fn: () => T): T {
  mustBeFunction(fn, `${kind}(name, fn)`);
  const runtime = currentRuntime();
  if (!runtime) return fn();
  return runtime.scopes.run({ frames: runtime.scopes.frame(kind, name) }, fn);
}

/**
 * Wraps a tool function: each run becomes an `execute_tool` span and a snapshot with its arguments and its result or
 * error, and calls made within are its children. The wrapped function returns and throws what `fn` does, with the same
 * `this`; a promise it returns settles one microtask later. Iterators and promises of other classes are handed on
 * untouched, and their outcome is not noted.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- any function's parameters
export function tool<F extends (...args: any[]) => unknown>(name: string, fn: F): F {
  mustBeFunction(fn, 'tool(name, fn)');
  const wrapped = function (this: unknown, ...args: unknown[]): unknown {
    const runtime = currentRuntime();
    if (!runtime || runtime.scopes.current().suppressed) return Reflect.apply(fn, this, args);
    return runTool(runtime, name, fn, this, args);
  };
  for (const key of ['name', 'length'] as const) {
    Object.defineProperty(wrapped, key, { value: fn[key], configurable: true });
  }
  return wrapped as F;
}

function runTool(
  runtime: Runtime,
  name: string,
  fn: (...args: never[]) => unknown,
  self: unknown,
  args: unknown[],
): unknown {
  const context = runtime.scopes.context();
  const active = spanContextOf(activeOtelContext());
  const trace = traceOf(runtime, context);
  const startUnixNano = unixNano();
  const finish = (outcome: { result?: unknown; error?: unknown }): void => {
    runtime.tool({ name: String(name), context, startUnixNano, endUnixNano: unixNano(), args, trace, ...outcome });
  };
  const scope = {
    frames: runtime.scopes.frame('tool', name),
    parent: { traceId: trace.traceId, spanId: trace.spanId },
    parentSince: active?.span,
  };
  // In a run that is to be replayed, or a replay.
  const run = runtime.tools?.start(String(name), scope.frames.at(-1)?.id ?? '', args);
  const call = run?.serve ?? ((): unknown => Reflect.apply(fn, self, args));
  let result: unknown;
  try {
    result = runtime.scopes.run(scope, () => (run ? run.within(call) : call()));
  } catch (error) {
    run?.ended({ kind: 'threw', error, isAsync: false });
    finish({ error });
    throw error;
  }
  if (!isPlainPromise(result)) {
    const isOther = isOpaque(result);
    run?.ended(isOther ? { kind: 'other', isAsync: false } : { kind: 'returned', value: result, isAsync: false });
    finish(isOther ? {} : { result });
    return result;
  }
  // Handlers on the side would mark the promise as handled and hide an unhandled rejection; so the outcome goes through.
  return result.then(
    (value) => {
      run?.ended({ kind: 'returned', value, isAsync: true });
      finish({ result: value });
      return value;
    },
    (error: unknown) => {
      run?.ended({ kind: 'threw', error, isAsync: true });
      finish({ error });
      throw error;
    },
  );
}

/** The trace a tool's run belongs to: of the active span or tool, the inbound request, what the recorder knows, or new. */
function traceOf(
  runtime: Runtime,
  context: ReturnType<Runtime['scopes']['context']>,
): { traceId: string; spanId: string; parentSpanId?: string } {
  const spanId = randomSpanId();
  const parent = spanContextOf(context.otelContext) ?? context.parent ?? context.inbound ?? runtime.traceHere();
  if (parent === undefined) return { traceId: randomTraceId(), spanId };
  const { traceId, spanId: parentSpanId } = parent;
  return { traceId, spanId, ...(parentSpanId === undefined ? {} : { parentSpanId }) };
}

function isPlainPromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise && Object.getPrototypeOf(value) === Promise.prototype;
}

/** Iterators and foreign thenables: looking at them would use them up. */
function isOpaque(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'function';
  const { next, then } = value as { next?: unknown; then?: unknown };
  return typeof next === 'function' || typeof then === 'function';
}
