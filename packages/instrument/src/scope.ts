/** The causal place of code: declared scopes and the inbound request, carried by one own AsyncLocalStorage. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { CallContext, InboundRequest, OtelContext } from '@orangebox/recorder';
import type { ScopeFrame } from '@orangebox/schema';
import { activeOtelContext, spanContextOf, withSpan } from './otel-context.ts';

/** Ids of a span that exists from the start of its scope on. */
export interface SpanIds {
  traceId: string;
  spanId: string;
}

/** One entry of the storage; never changed, inner scopes are new objects. */
export interface Scope {
  readonly frames: readonly ScopeFrame[];
  readonly session?: NonNullable<CallContext['session']>;
  readonly inbound?: InboundRequest;
  /** Span of the innermost tool around. */
  readonly parent?: SpanIds;
  /** The application's span that was active when `parent` began; while it still is, `parent` is the inner one. */
  readonly parentSince?: unknown;
  readonly suppressed?: true;
}

/** Scope of code that nothing was declared around. */
const OUTERMOST: Scope = { frames: [] };

const storage = new AsyncLocalStorage<Scope>();
let entries = 0;

/** The scope of the code that runs now. */
export function currentScope(): Scope {
  return storage.getStore() ?? OUTERMOST;
}

/** Runs `fn` within a scope that differs from the current one by `change`. */
export function runInScope<T>(change: Partial<Scope>, fn: () => T): T {
  return storage.run({ ...currentScope(), ...change }, fn);
}

/** Makes an inbound request the place of all that follows in this async context. */
export function enterInbound(inbound: InboundRequest): void {
  storage.enterWith({ frames: [], inbound });
}

/** The current frames with one more. */
export function withFrame(kind: ScopeFrame['kind'], name: string): readonly ScopeFrame[] {
  const id = (entries++).toString(36);
  // Programs without types may pass anything.
  return [...currentScope().frames, { kind, name: String(name), id }];
}

/** What the sink gets to know about where a request or tool run was made. */
export function callContext(): CallContext {
  const store = storage.getStore();
  const scope = store ?? OUTERMOST;
  const otel = activeOtelContext();
  const context: CallContext = { scope: scope.frames, place: store };
  if (scope.session) context.session = scope.session;
  if (scope.inbound) context.inbound = scope.inbound;
  if (scope.parent) context.parent = scope.parent;
  if (otel) context.otelContext = innermost(otel, scope);
  return context;
}

/** With a tool's span inside the application's active one, the tool's is the parent of what is made here. */
function innermost(otel: OtelContext, scope: Scope): OtelContext {
  const { parent } = scope;
  if (!parent) return otel;
  const active = spanContextOf(otel);
  if (active === undefined || active.span !== scope.parentSince) return otel;
  return withSpan(otel, { ...parent, traceFlags: active.traceFlags });
}
