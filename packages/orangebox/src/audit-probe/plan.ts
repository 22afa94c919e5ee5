/** What `orangebox audit` and the code that it puts into the program tell each other: a plan file, and a file of events. */
import { readFileSync } from 'node:fs';

/** Names the plan's file to the program's processes. */
export const PLAN_VARIABLE = 'ORANGEBOX_AUDIT_PLAN';

/** What a process under audit has to know. */
export interface AuditPlan {
  /** Absolute path of `orangebox/register`. */
  register: string;
  /** Where each thread writes its events. */
  eventsDir: string;
  /** Directories whose code is Orangebox'. */
  ownDirs: string[];
  /** Directory of recordings. */
  recordDir: string;
  /** Port of the audit's receiver on loopback. */
  receiverPort: number;
  /** The seeded calls' file. */
  seedsFile: string;
}

/** A request that the seeds make, with what they make it through. */
export interface SeedCall {
  n: number;
  via: 'fetch' | 'http';
  method: string;
  url: string;
  headers: [name: string, value: string][];
  /** Base64. */
  body?: string;
  /** The body is sent byte by byte. */
  inPieces?: boolean;
  /** Before all others and one after the other: only the last sixteen credentials are known when an answer quotes them. */
  alone?: boolean;
  /** `user:password` of the options of `http.request`. */
  auth?: string;
  session?: { id: string; userId?: string; metadata?: { [name: string]: string } };
}

/** A wrapped tool that the seeds run. */
export interface SeedTool {
  name: string;
  arguments: { [name: string]: string };
  result: string;
  /** Thrown instead of giving the result. */
  error?: string;
}

/** What the seeds do. */
export interface SeedPlan {
  calls: SeedCall[];
  tools: SeedTool[];
}

/** What a probe saw; a line of JSON each. Paths are absolute. */
export type AuditEvent =
  | { t: 'start'; pid: number; threadId: number; node: string; argv: string[]; seeds: boolean }
  | { t: 'file'; op: string; path: string; data?: string }
  | { t: 'read'; path: string }
  | { t: 'socket'; host: string; port: string }
  | { t: 'bytes'; host: string; port: string; data: string }
  | { t: 'dns'; name: string }
  | { t: 'udp'; target: string; data: string }
  | { t: 'listen'; target: string }
  | { t: 'child'; ours: boolean; file: string; words: string[]; env: string[] }
  | { t: 'worker'; file: string }
  | { t: 'hooks'; what: string }
  | { t: 'output'; fd: number; text: string }
  | { t: 'patch'; name: string; when: string }
  | { t: 'own'; object: string; names: string[] }
  | { t: 'channel'; name: string }
  | { t: 'listener'; event: string; count: number }
  | { t: 'env'; name: string }
  | { t: 'cost'; cost: ProcessCost };

/** What Orangebox cost a process. Milliseconds. */
export interface ProcessCost {
  /** Loading `orangebox/register`. */
  registerMs: number;
  /** Loading everything else of ours and of what only we need. */
  loadMs: number;
  /** Our synchronous file calls. */
  fileCalls: number;
  fileMs: number;
  timers: number;
  /** CPU time of the process, all threads. */
  cpuMs: number;
  /** Samples of JavaScript by whose it is; absent where there is no inspector. */
  cpu?: { totalMs: number; oursMs: number; probeMs: number; functions: { name: string; ms: number }[] };
  recorded: number;
}

/** Reads the plan of this process; undefined where there is none. The probe's one look at the environment. */
export function readPlan(env: NodeJS.ProcessEnv = process.env): AuditPlan | undefined {
  const path = env[PLAN_VARIABLE];
  if (path === undefined || path === '') return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as AuditPlan;
  } catch {
    return undefined;
  }
}
