/** Finds what the application registered with the OpenTelemetry API. We register nothing there, ever. */
import { INSTRUMENTATION_SCOPE, SEMCONV_SCHEMA_URL } from '@orangebox/schema';
import type { OtelContext } from '../wire-events.ts';
import type { ApiMeterProvider } from './api-meters.ts';
import { type ApiTracer, SUPPRESS_KEY } from './api-shapes.ts';
import { ROOT_CONTEXT } from './context.ts';

/** Every API of major version 1 keeps its registrations here. */
const API_GLOBAL: symbol = Symbol.for('opentelemetry.js.api.1');
/** The preload's runtime; its `suppress` marks requests as Orangebox's own. */
const RUNTIME_GLOBAL: symbol = Symbol.for('orangebox.runtime.1');

interface ApiGlobal {
  trace?: ApiTracerProvider;
  metrics?: ApiMeterProvider;
  context?: { active(): OtelContext; with<T>(context: OtelContext, fn: () => T): T };
}

/** The registered provider: the API's proxy in front of the application's own. */
interface ApiTracerProvider {
  getTracer(name: string, version: string, options: { schemaUrl: string }): ApiTracer;
  getDelegate?(): unknown;
}

/** The application's tracer for our spans; undefined when no provider is registered. */
export function applicationTracer(version: string): ApiTracer | undefined {
  return registered().trace?.getTracer(INSTRUMENTATION_SCOPE, version, { schemaUrl: SEMCONV_SCHEMA_URL });
}

/** The provider behind the API's proxy. */
export function applicationProvider(): object | undefined {
  const provider = registered().trace;
  const delegate = provider?.getDelegate?.() ?? provider;
  return typeof delegate === 'object' && delegate !== null ? delegate : undefined;
}

/** The application's meter provider; undefined when none is registered. */
export function applicationMeterProvider(): ApiMeterProvider | undefined {
  return registered().metrics;
}

/**
 * Runs `fn` so that what it starts is neither recorded by the taps nor traced by the application's instrumentations:
 * under the mark of our own requests, and in a context where tracing is suppressed.
 */
export function hidden<T>(fn: () => T): T {
  const { context } = registered();
  const traced = context;
  const untraced = traced
    ? (): T => traced.with((traced.active() ?? ROOT_CONTEXT).setValue(SUPPRESS_KEY, true), fn)
    : fn;
  const runtime = (globalThis as Record<symbol, unknown>)[RUNTIME_GLOBAL] as
    | { suppress?: <R>(run: () => R) => R }
    | undefined;
  return typeof runtime?.suppress === 'function' ? runtime.suppress(untraced) : untraced();
}

function registered(): ApiGlobal {
  return ((globalThis as Record<symbol, unknown>)[API_GLOBAL] as ApiGlobal | undefined) ?? {};
}
