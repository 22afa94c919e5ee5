/** A recorded run as it has to be given where the working directory is another one. */
import type { ChildEvent } from '@orangebox/schema';
import type { RecordedRun } from '../recorded-run.ts';
import type { PathPair } from './path-pair.ts';

/**
 * What child processes said of the recorded directory they say of the live one: a program goes where it is told. Answers of
 * others stay as they are.
 */
export function withLivePaths(run: RecordedRun, paths: PathPair): RecordedRun {
  const children = run.children.map((child) => ({
    ...child,
    events: child.events.map((event) => mapped(event, paths)),
  }));
  return { ...run, children };
}

function mapped(event: ChildEvent, paths: PathPair): ChildEvent {
  if (event.bytes === undefined) return event;
  const bytes = Buffer.from(event.bytes, 'base64');
  const live = paths.bytesToLive(bytes);
  return live === bytes ? event : { ...event, bytes: Buffer.from(live).toString('base64') };
}
