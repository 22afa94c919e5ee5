/** Facts of the recording process that stand in every segment. */
import { hostname } from 'node:os';
import { threadId } from 'node:worker_threads';
import type { ProcessInfo } from '@orangebox/schema';
import type { RecorderConfig } from './config.ts';
import { recorderVersion } from './otel/version.ts';

/** Collects what is at hand without reading a file. */
export function processInfo(config: RecorderConfig): ProcessInfo {
  return {
    pid: process.pid,
    threadId,
    host: hostname(),
    node: process.version,
    orangebox: recorderVersion,
    serviceName: config.serviceName,
    ...(Object.keys(config.resource).length > 0 ? { resource: config.resource } : {}),
  };
}
