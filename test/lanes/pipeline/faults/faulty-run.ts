/** One fault: a pipeline and a program under load, the fault in the middle, and what became of every call. */
import { setTimeout as wait } from 'node:timers/promises';
import { type Pipeline, pipeline, type PipelineOptions } from '../pipeline.ts';
import { bucketOf } from '../stored-objects.ts';
import { compareStore, type Compared, isWhole, keysInJaeger, objectsByKey, promisedKeys } from './compared.ts';
import { recover } from './recover.ts';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts';
import { type S3Proxy, startS3Proxy } from './s3-proxy.ts';
import { type CallsMade, type Load, startSteadyProgram } from './steady-program.ts';
import { type MetricsWatch, watchMetrics } from './watched-metrics.ts';

/** The configurations that faults happen to. */
export type FaultConfig = 'collector' | 'queue';

/** What a fault acts on. */
export interface FaultScene {
  config: FaultConfig;
  servers: Pipeline;
  s3: S3Proxy;
  watch: MetricsWatch;
  /** Between the program and the collector's payload side, where the fault asks for it. */
  cutting: CuttingProxy | undefined;
  /** True for a short sample. */
  quick: boolean;
  /** Waits; where it is quick, for the second (a sixth of the first unless given). */
  seconds(full: number, quick?: number): Promise<void>;
}

/** A fault. */
export interface Fault {
  name: string;
  title: string;
  load?(config: FaultConfig): Partial<Load>;
  options?(config: FaultConfig): PipelineOptions;
  /** The program's payloads go through a proxy that can cut. */
  isCut?: boolean;
  /** Exporters give spans up that can't be sent for long: `orangebox recover` has to bring them. */
  recoversSpans?: boolean;
  /** Makes the fault and ends it. */
  happen(scene: FaultScene): Promise<void>;
  /** Jaeger dies, with the spans in its memory: only those of later calls are looked for. */
  forgetsSpans?: boolean;
  /** What an operator must see while it lasts or just after: names for people, and whether it was seen. */
  signs(config: FaultConfig): readonly Sign[];
}

/** A sign of a fault. */
export interface Sign {
  /** As it stands in `docs/faults.md`. */
  metric: string;
  /** Matches `<page> <name>{<labels>}`; a page's name instead: looks that found it gone. */
  pattern: RegExp | string;
  /** A counter has to grow by more than this, a gauge has to rise above it. */
  above: number;
}

/** What came of it. */
export interface FaultResult {
  name: string;
  title: string;
  config: FaultConfig;
  faultSeconds: number;
  drainSeconds: number;
  program: CallsMade & { code: number | null; stderr: string[]; peakRssBytes: number };
  /** Connections that a proxy cut. */
  cuts: number;
  payloads: Compared;
  outcomes: Record<string, number>;
  signs: { metric: string; value: number; seen: boolean }[];
  /** Everything that moved in the fault and not before, for whoever looks for more. */
  news: string[];
  /** Calls whose span is in Jaeger. */
  metadata: { promised: number; inJaeger: number };
  /** The same after `orangebox recover`, where the program had not brought all of them there. */
  recovered?: { promised: number; inJaeger: number; output: string };
}

/** What the program does unless a fault says otherwise. */
export const LOAD: Load = { perSecond: 20, promptBytes: 3000, largeEvery: 150, largeBytes: 12 * 2 ** 20 };
/** Longest wait for the last payload. */
const DRAIN_MS = 600_000;
/** Longest wait for the last span. */
const SPANS_MS = 25_000;

/** Runs a fault. */
export async function runFault(fault: Fault, config: FaultConfig, quick = false): Promise<FaultResult> {
  const s3 = await startS3Proxy();
  const own = fault.options?.(config) ?? {};
  const servers = await pipeline(config, {
    ...own,
    archiverEnv: { ...own.archiverEnv, AWS_ENDPOINT_URL_S3: s3.url },
  });
  s3.aim(servers.weed?.url ?? '');
  const cutting = fault.isCut ? await startCuttingProxy(servers.collector.payloadUrl) : undefined;
  const program = await startSteadyProgram(
    { ...LOAD, ...fault.load?.(config) },
    { ...servers.programEnv, ...(cutting ? { ORANGEBOX_ENDPOINT: cutting.url } : {}) },
  );
  const watch = watchMetrics({
    collector: servers.collector.telemetryUrl,
    programs: servers.collector.metricsUrl,
    archiver: `${servers.archiver?.url}/metrics`,
  });
  const phase = (name: string): void => {
    watch.phase(name);
    program.phase(name);
  };
  const seconds = (full: number, short = full / 6): Promise<void> => wait((quick ? short : full) * 1000);
  try {
    await seconds(10, 4);
    await watch.look();
    phase('fault');
    const faultMs = Date.now();
    await fault.happen({ config, servers, s3, watch, cutting, quick, seconds });
    const overMs = Date.now();
    await watch.look();
    phase('after');
    await seconds(5, 2);
    const calls = await program.stopCalls();
    const drainedMs = await untilStored(servers, program.recordings);
    // The last export of the program's metrics tells that nothing waits any more.
    await seconds(3, 2);
    const peakRssBytes = program.peakRssBytes();
    const { code, stderr } = await program.end();
    const payloads = await compareStore(servers, program.recordings);
    await watch.stop();
    const metadata = await spansOf(
      servers,
      await promisedKeys(program.recordings, fault.forgetsSpans ? faultMs + 1000 : 0),
    );
    return {
      name: fault.name,
      title: fault.title,
      config,
      faultSeconds: (overMs - faultMs) / 1000,
      drainSeconds: Math.max(0, drainedMs - overMs) / 1000,
      program: { ...calls, code, stderr, peakRssBytes },
      cuts: cutting?.cuts ?? 0,
      payloads,
      outcomes: outcomesOf(watch),
      signs: fault.signs(config).map(({ metric, pattern, above }) => {
        const value = typeof pattern === 'string' ? watch.gone(pattern, 'fault') : seenOf(watch, pattern);
        // A gauge that was as high before tells nothing.
        const usual = typeof pattern === 'string' ? 0 : watch.of(pattern, 'before').highest;
        return { metric, value, seen: value > Math.max(above, usual) };
      }),
      news: watch.news('fault', 'before'),
      metadata,
      ...(fault.recoversSpans && { recovered: await recoveredSpans(servers, program.recordings) }),
    };
  } finally {
    await watch.stop().catch(() => undefined);
    await program.remove();
    await cutting?.close();
    await servers.stop();
    await s3.close();
  }
}

/** Waits until every promised key is there; gives the time of the last one. Returns in any case, late. */
export async function untilStored(servers: Pipeline, recordings: string): Promise<number> {
  const bucket = bucketOf(servers);
  const deadline = Date.now() + DRAIN_MS;
  try {
    for (;;) {
      const keys = await promisedKeys(recordings);
      const objects = await objectsByKey(bucket);
      if (keys.every((key) => isWhole(objects.get(key))) || Date.now() > deadline) return Date.now();
      await wait(1000);
    }
  } finally {
    await bucket.close();
  }
}

/** Looks for the spans of calls until all are there, or for as long as the collector's longest pause and some more. */
async function spansOf(servers: Pipeline, keys: readonly string[]): Promise<FaultResult['metadata']> {
  const deadline = Date.now() + SPANS_MS;
  for (;;) {
    const found = await keysInJaeger(servers);
    const inJaeger = keys.filter((key) => found.has(key)).length;
    if (inJaeger === keys.length || Date.now() > deadline) return { promised: keys.length, inJaeger };
    await wait(2000);
  }
}

async function recoveredSpans(servers: Pipeline, recordings: string): Promise<Required<FaultResult>['recovered']> {
  const { output } = await recover(recordings, servers.programEnv);
  return { ...(await spansOf(servers, await promisedKeys(recordings, 0))), output };
}

/** The most that a series showed in the fault and after it. */
function seenOf(watch: MetricsWatch, pattern: RegExp): number {
  const [during, after] = [watch.of(pattern, 'fault'), watch.of(pattern, 'after')];
  return Math.max(during.grown + after.grown, during.highest, after.highest);
}

function outcomesOf(watch: MetricsWatch): Record<string, number> {
  const names = ['stored', 'duplicate', 'conflict', 'repaired', 'quarantined', 'rejected'];
  const pattern = (outcome: string): RegExp => new RegExp(`orangebox_archiver_payloads_total\\{outcome=${outcome}\\}`);
  return Object.fromEntries(names.map((outcome) => [outcome, watch.of(pattern(outcome)).grown]));
}
