import { BasicTracerProvider } from '@opentelemetry/sdk-trace-node';
import { afterEach, expect, it } from 'vitest';
import { createShutdownWatch } from './shutdown-watch.ts';

const API_GLOBAL = Symbol.for('opentelemetry.js.api.1');
const register = (trace: object | undefined): void => {
  (globalThis as Record<symbol, unknown>)[API_GLOBAL] = trace && { version: '1.9.0', trace };
};
afterEach(() => register(undefined));

it('sees a frozen provider stop, and no other of its class, until it is undone', async () => {
  const before = BasicTracerProvider.prototype.shutdown;
  const frozen = Object.freeze(new BasicTracerProvider());
  register(frozen);
  let drained = 0;
  const watch = createShutdownWatch(() => (drained += 1));
  watch.look();
  watch.look();
  expect(watch.isBlind()).toBe(false);
  await new BasicTracerProvider().shutdown();
  expect(drained).toBe(0);
  await frozen.forceFlush();
  await frozen.shutdown();
  expect(drained).toBe(2);
  watch.undo();
  expect(BasicTracerProvider.prototype.shutdown).toBe(before);
});

it('says of which provider it would see no stop', () => {
  const watch = createShutdownWatch(() => {});
  const getTracer = (): undefined => undefined;
  const shutdown = async (): Promise<void> => {};
  for (const [provider, isBlind] of [
    [undefined, false],
    [{ getTracer, shutdown }, false],
    [{ getTracer }, true],
    [Object.freeze({ getTracer, shutdown }), true],
    [Object.freeze(new (class extends BasicTracerProvider {})()), false],
  ] as const) {
    register(provider);
    watch.look();
    expect(watch.isBlind()).toBe(isBlind);
  }
  watch.undo();
});
