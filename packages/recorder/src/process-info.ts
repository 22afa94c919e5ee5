/** Facts of the recording process that stand in every segment. */
import { hostname } from 'node:os';
import { threadId } from 'node:worker_threads';
import type { ProcessInfo } from '@orangebox/schema';
import type { RecorderConfig } from './config.ts';
import { recorderVersion } from './otel/version.ts';
import { gitRevision, packageVersions, programDirectory } from './program-facts.ts';

/** Collects what is at hand, and what a few small files around the program say. Never throws. */
export function processInfo(config: RecorderConfig): ProcessInfo {
  return {
    pid: process.pid,
    threadId,
    host: hostname(),
    node: process.version,
    orangebox: recorderVersion,
    serviceName: config.serviceName,
    ...(Object.keys(config.resource).length > 0 ? { resource: config.resource } : {}),
    ...programFacts(),
  };
}

function programFacts(): Pick<ProcessInfo, 'packages' | 'gitRevision'> {
  try {
    const directory = programDirectory();
    if (directory === undefined) return {};
    const packages = packageVersions(directory);
    const revision = gitRevision(directory);
    return {
      ...(Object.keys(packages).length > 0 ? { packages } : {}),
      ...(revision === undefined ? {} : { gitRevision: revision }),
    };
  } catch {
    // A directory that may not be looked into: the recording does without.
    return {};
  }
}
