/** Spawns programs with and without the preload, and collects what they printed, recorded and exported. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { crc32 } from 'node:zlib';
import { collectRecords, decodeSegment } from '@orangebox/codec';
import type { CallEndRecord, SegmentRecord } from '@orangebox/schema';
import { type ReceivedSpan, startOtlpReceiver } from '../helpers/otlp-receiver.mjs';
import { finished } from '../helpers/finished.ts';
import { inRepository } from '../helpers/repository.ts';

/** How the preload gets into a program. */
export type Flag = '--require' | '--import' | 'both' | 'NODE_OPTIONS';

/** What a run left. */
export interface ProgramRun {
  stdout: string;
  stderr: string;
  code: number | null;
  signal: string | null;
  /** Ended calls on the disk. */
  calls: CallEndRecord[];
  /** Keys that were acknowledged by a payload endpoint. */
  shipped: string[];
  /** Spans that were exported, by whomever. */
  spans: ReceivedSpan[];
  /** Files of the recording directory, relative. */
  files: string[];
}

/** A program to run. */
export interface ProgramOptions {
  file: string;
  args?: string[];
  /** Absent: without Orangebox. */
  flag?: Flag;
  /** Modules required before the preload. */
  requiredBefore?: string[];
  /** Modules required after it. */
  requiredAfter?: string[];
  env?: Record<string, string>;
  cwd?: string;
  /** Spans go to a receiver, as standard variables say. */
  exports?: boolean;
}

/** The built preload. */
export const registerFile: string = inRepository('packages/orangebox/dist/register.cjs');

/** Node's arguments and `NODE_OPTIONS` for one way of loading. */
export function nodeFlags(
  flag: Flag | undefined,
  requiredBefore: string[] = [],
): { args: string[]; nodeOptions: string } {
  const before = requiredBefore.flatMap((file) => ['--require', file]);
  const required = ['--require', registerFile];
  const imported = ['--import', pathToFileURL(registerFile).href];
  switch (flag) {
    case '--require':
      return { args: [...before, ...required], nodeOptions: '' };
    case '--import':
      return { args: [...before, ...imported], nodeOptions: '' };
    case 'both':
      return { args: [...before, ...required, ...imported], nodeOptions: '' };
    case 'NODE_OPTIONS':
      return { args: [], nodeOptions: [...before, ...required].join(' ') };
    default:
      return { args: before, nodeOptions: '' };
  }
}

/** Runs a program to its end. */
export async function runProgram(options: ProgramOptions): Promise<ProgramRun> {
  const directory = mkdtempSync(join(tmpdir(), 'orangebox-matrix-'));
  const receiver = options.exports ? await startOtlpReceiver() : undefined;
  try {
    const { args, nodeOptions } = nodeFlags(options.flag, options.requiredBefore);
    const after = (options.requiredAfter ?? []).flatMap((file) => ['--require', file]);
    const child = spawn(process.execPath, [...args, ...after, options.file, ...(options.args ?? [])], {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        ...(nodeOptions === '' ? {} : { NODE_OPTIONS: nodeOptions }),
        ...(options.flag ? { ORANGEBOX_DIR: directory } : {}),
        ...(receiver ? otelEnvironment(receiver.url) : {}),
        ...options.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = await finished(child);
    return { ...ended, ...readRecording(directory), spans: receiver?.metadataSpans() ?? [] };
  } finally {
    await receiver?.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Standard variables that keep a program's telemetry on this machine. */
function otelEnvironment(endpoint: string): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    // The detectors of cloud providers would ask addresses outside of this machine.
    OTEL_NODE_RESOURCE_DETECTORS: 'none',
    OTEL_SERVICE_NAME: 'matrix',
  };
}

/** Everything in a recording directory. */
export function readRecording(directory: string): Pick<ProgramRun, 'calls' | 'shipped' | 'files'> {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();
  const records = files
    .filter((file) => file.endsWith('.obxs'))
    .flatMap((file): SegmentRecord[] => {
      const decoded = decodeSegment(readFileSync(join(directory, file)), { crc32 });
      return [...decoded].map(({ record }) => record);
    });
  const { calls, shipped } = collectRecords(records);
  return { calls, shipped: [...shipped], files };
}
