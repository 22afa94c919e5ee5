/** What the runtime gives to the part of it that is loaded in run mode only. */
import type { RunRecord } from '@orangebox/schema';
import type { InstrumentConfig } from './config.ts';
import type { ToolPort } from './tool-port.ts';

/** The runtime as run mode knows it. No member throws. */
export interface RunKit {
  /** The next place in the total order of the process for something that comes to the program. */
  nextDelivery(): number;
  /** The next place for something that the program does. */
  nextSeq(): number;
  record(record: RunRecord): void;
  /** Whether a content has a secret in it that the recorder knows. */
  holdsSecret(bytes: Uint8Array): boolean;
  /** From now on told of wrapped tools before they run. */
  useTools(port: ToolPort): void;
  /** Calls `work` when a signal that nobody listens for is about to end the process. */
  whenDying(work: (signal: NodeJS.Signals) => void): void;
  /** Writes everything down. */
  flush(): void;
  fault(place: string, error: unknown): void;
  warn(message: string): void;
  /** Whether a recorded request went over this socket. */
  isClaimed(socket: object): boolean;
  /** Whether a recorded request found no connection to `host:port`. */
  isUnreached(peer: string): boolean;
  /** Whether the code that runs is Orangebox's own, or within `suppress()`. */
  isOwn(): boolean;
  readonly config: Pick<InstrumentConfig, 'runId' | 'runParent' | 'runEnvironment' | 'runDirectory'>;
}

/** Starts run mode; the result takes its hooks out again. */
export type StartRun = (kit: RunKit) => () => void;
