/** A modification of the built packages. */
export interface Leak {
  name: string;
  /** Kind of the finding that must come. */
  finds: string;
  mentions: RegExp;
  patches: { package: string; anchor: string | RegExp; replacement: string }[];
}

/** Packages as they were built at one time. */
export interface Build {
  base: string;
  /** Whether every anchor of the leak's patches is there. */
  anchored(leak: Leak): boolean;
  remove(): void;
}

/** What an audit of a build gave. */
export interface AuditResult {
  leak: Leak | undefined;
  code: number | null;
  found: boolean;
  stderr: string;
  ms: number;
  report: {
    clean: boolean;
    findings: { kind: string; message: string }[];
    present: { [name: string]: string[] };
    processes: { seeds: boolean; cost: { recorded: number; registerMs: number } }[];
  };
}

export function allLeaks(): Promise<Leak[]>;
export function takeBuild(): Build;
export function auditBuild(build: Build, leak: Leak | undefined): Promise<AuditResult>;
export function auditAll(
  build: Build,
  leaks: (Leak | undefined)[],
  atOnce: number,
  onResult?: (result: AuditResult) => void,
): Promise<AuditResult[]>;
