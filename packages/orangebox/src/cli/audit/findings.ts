/** What is wrong, and what is merely there, of all that an audit saw. */
import type { SeedCall } from '../../audit-probe/plan.ts';
import { DOCUMENTED_CHANNELS, DOCUMENTED_LISTENERS, DOCUMENTED_METHODS, isDocumentedPatch } from './documented.ts';
import { type Evidence, isBelow, type RecordedFile } from './evidence.ts';
import type { MarkFinder } from './find-marks.ts';
import type { Mark } from './marks.ts';
import type { Observed } from './observations.ts';

/** Kinds of findings, as in `docs/audit.md`. */
export type FindingKind =
  | 'leak'
  | 'file'
  | 'socket'
  | 'process'
  | 'patch'
  | 'listener'
  | 'request_changed'
  | 'control_missing'
  | 'not_seen'
  | 'command_failed';

/** Something where nothing should be, or nothing where something should be. */
export interface Finding {
  kind: FindingKind;
  /** One line; holds no mark's value. */
  message: string;
}

/** Finds marks in the evidence. `seen` collects the controls that stood in recordings and in payloads. */
export function leaksIn(
  evidence: Iterable<Evidence>,
  finder: MarkFinder,
  seen: { recording: Set<Mark>; payload: Set<Mark> },
): Finding[] {
  const found = new Map<string, Finding>();
  for (const { kind, place, bytes } of evidence) {
    for (const { mark, form } of finder.find(bytes)) {
      if (mark.kind === 'control') {
        if (kind === 'recording' || kind === 'payload') seen[kind].add(mark);
        continue;
      }
      const name = `${mark.place}\0${kind}`;
      if (!found.has(name)) found.set(name, { kind: 'leak', message: `${mark.place}: came out in ${place} (${form})` });
    }
  }
  return [...found.values()];
}

/** Controls that were not found, so that nothing being found means something. */
export function missingControls(
  marks: readonly Mark[],
  seen: { recording: ReadonlySet<Mark>; payload: ReadonlySet<Mark> },
): Finding[] {
  const controls = marks.filter(({ kind }) => kind === 'control');
  return (['recording', 'payload'] as const).flatMap((where): Finding[] => {
    const missing = controls.filter((mark) => !seen[where].has(mark));
    if (missing.length === 0) return [];
    const words = where === 'recording' ? 'recordings' : 'payloads';
    const message =
      missing.length === controls.length
        ? `the audit saw none of its own controls in ${words}, so that finding no leak there says nothing`
        : `${missing.length} of ${controls.length} controls are not in ${words}, first: ${missing[0]?.place ?? ''}`;
    return [{ kind: 'control_missing', message }];
  });
}

/** Modes and links below the directory of recordings. */
export function fileFindings(files: readonly RecordedFile[]): Finding[] {
  return files.flatMap(({ path, mode, isDirectory, isLink }): Finding[] => {
    if (isLink) return [{ kind: 'file', message: `${path} is a link` }];
    const wanted = isDirectory ? 0o700 : 0o600;
    if (mode === wanted) return [];
    return [{ kind: 'file', message: `${path} has mode ${mode.toString(8)}, not ${wanted.toString(8)}` }];
  });
}

/** What our code did where it should do nothing. */
export function behaviourFindings(
  observed: readonly Observed[],
  places: { recordDirs: readonly string[]; receiverPort: number },
): Finding[] {
  const findings = new Map<string, Finding>();
  const add = (kind: FindingKind, message: string): void => void findings.set(message, { kind, message });
  for (const { node, events } of observed) {
    for (const event of events) {
      switch (event.t) {
        case 'file':
          if (!places.recordDirs.some((dir) => isBelow(event.path, dir) || isAbove(event.path, dir, event.op)))
            add('file', `${event.op} outside the directory of recordings: ${event.path}`);
          break;
        case 'socket':
          if (event.port !== String(places.receiverPort) || event.host !== '127.0.0.1')
            add('socket', `a connection to ${event.host}:${event.port}, which nobody configured`);
          break;
        case 'dns':
          add('socket', `a name was looked up: ${event.name.slice(0, 80)}`);
          break;
        case 'udp':
          add('socket', `a datagram was sent: ${event.target}`);
          break;
        case 'listen':
          add('socket', `a server was started: ${event.target}`);
          break;
        case 'child':
          if (event.ours) add('process', `a child process was started: ${event.file}`);
          break;
        case 'worker':
          add('process', `a thread was started: ${event.file}`);
          break;
        case 'hooks':
          add('patch', `${event.what} was called`);
          break;
        case 'patch':
          if (!isDocumentedPatch(event.name, node)) add('patch', `${event.name} was changed ${event.when}`);
          break;
        case 'own':
          for (const name of event.names) {
            if (DOCUMENTED_METHODS[event.object]?.has(name) !== true)
              add('patch', `each ${event.object} has an own method ${name}`);
          }
          break;
        case 'channel':
          if (!DOCUMENTED_CHANNELS.has(event.name)) add('listener', `the channel ${event.name} is listened to`);
          break;
        case 'listener':
          if (!DOCUMENTED_LISTENERS.has(event.event)) add('listener', `a listener for ${event.event} on the process`);
          else if (event.count > 1) add('listener', `${event.count} listeners for ${event.event} on the process`);
          break;
        case 'env':
          add('patch', `the environment variable ${event.name} was changed`);
          break;
        default:
      }
    }
  }
  return [...findings.values()];
}

/** The directories above it are made where they are missing. */
function isAbove(path: string, directory: string, op: string): boolean {
  return op.startsWith('mkdir') && isBelow(directory, path);
}

/** Header names that the platform adds to a request by itself. */
const PLATFORM_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept',
  'accept-language',
  'accept-encoding',
  'sec-fetch-mode',
  'user-agent',
  'authorization',
]);

/** Headers that came with a seeded request and that nobody sent. */
export function requestFindings(calls: readonly SeedCall[], seen: ReadonlyMap<number, readonly string[]>): Finding[] {
  const added = new Set<string>();
  for (const { n, headers } of calls) {
    const sent = new Set(headers.map(([name]) => name.toLowerCase()));
    for (const name of seen.get(n) ?? []) {
      if (!sent.has(name.toLowerCase()) && !PLATFORM_HEADERS.has(name.toLowerCase())) added.add(name);
    }
  }
  return [...added].map((name) => ({
    kind: 'request_changed',
    message: `the header ${name} was added to the program's requests`,
  }));
}
