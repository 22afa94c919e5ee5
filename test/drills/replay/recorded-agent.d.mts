import type { Receipt } from '@orangebox/replay';
import type { DrilledAgent } from './agents.mjs';

/** What a run of the program showed. */
export interface ShownRun {
  stdout: string;
  /** Standard error without what the command says. */
  own: string;
  exitCode: number | null;
  /** Content of what the program wrote beside itself, by name. */
  files: { [name: string]: string };
}

/** What a replay showed. */
export interface ShownReplay extends ShownRun {
  /** Exit code of the command. */
  code: number | null;
  receipt: Receipt | undefined;
  digest: string;
  milliseconds: number;
}

/** A recorded run whose provider is gone. */
export interface RecordedAgent {
  directory: string;
  runId: string;
  recorded: ShownRun;
  /** What the command said of the run. */
  said: string[];
  /** Requests that reached the provider. */
  requests: number;
  /** SHA-256 of all that the recorded run showed. */
  digest: string;
  replay(options?: string[]): Promise<ShownReplay>;
  /** What is not as recorded, in words; also connections and processes that were made. */
  differences(again: ShownReplay): string[];
  remove(): Promise<void>;
}

/** Records an agent against the local provider, which is closed when this returns. */
export function recordAgent(
  agent: Omit<DrilledAgent, 'name' | 'code'> & { args?: string[]; env?: { [name: string]: string } },
): Promise<RecordedAgent>;
