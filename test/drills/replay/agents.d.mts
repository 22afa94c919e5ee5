/** A program that is recorded and replayed. */
export interface DrilledAgent {
  name: string;
  /** In `test/run-replay/programs`. */
  file: string;
  /** Folder of `test/programs` whose packages it uses; those of the repository by default. */
  packages?: string;
  /** What the provider does. */
  script?: string;
  /** Exit code. */
  code: number;
}

/** Agents as people write them, none of which knows of Orangebox. */
export const agents: readonly DrilledAgent[];

/** A program of races, whose output is the order of its events. */
export const order: DrilledAgent;
