/** Signals and priorities of other processes: the process numbers that a program has may come from the recording. */
import { constants } from 'node:os';
import { type AnyFunction, membersOf, refusal, type RefusalHost } from './ways-out.ts';

/** What a number stands for in this replay. */
export type ProcessNumber =
  /** The program itself, by its real number or the one on record. */
  | 'own'
  /** A child on record that was given and has not ended. */
  | 'child'
  /** Who started the program. */
  | 'parent'
  /** A child on record that has ended. */
  | 'ended';

/** Who knows the numbers. */
export interface SignalHost extends RefusalHost {
  /** Undefined for every number that nothing is known of. */
  processNumber(pid: number): ProcessNumber | undefined;
}

type SystemSignal = (pid: number, signal: number) => number;

/** Replaces what sends them. */
export function refuseSignals(host: SignalHost): void {
  // The real number: the program's view of it is replaced later.
  const ownPid = process.pid;
  const { EPERM, ESRCH } = constants.errno;
  const members = process as unknown as { _kill: SystemSignal };
  const really = members._kill.bind(process);
  // `process.kill` asks this, and makes the errors of its numbers.
  members._kill = function _kill(pid, signal) {
    const known = host.processNumber(pid);
    if (known === 'own') return really(ownPid, signal);
    if (known === 'ended') return -ESRCH;
    // What becomes of a child is on record.
    if (known === 'child' || (known === 'parent' && signal === 0)) return 0;
    host.refused(`${nameOf(signal)} to process ${pid}`);
    return -EPERM;
  };
  replaceForPid(process, '_debugProcess', (original) => (pid: number) => {
    if (host.processNumber(pid) === 'own') return original(ownPid) as unknown;
    host.refused(`a debugger to process ${pid}`);
    throw refusal('signals no process', 'EPERM', 'kill');
  });
  const os = process.getBuiltinModule('node:os');
  replaceForPid(os, 'setPriority', (original) => (...args: unknown[]) => {
    const [pid] = args;
    // With one argument it is the program's own.
    if (args.length < 2 || args[1] === undefined || typeof pid !== 'number' || pid === 0) {
      return original(...args) as unknown;
    }
    if (host.processNumber(pid) === 'own') return original(0, args[1]) as unknown;
    host.refused(`a priority for process ${pid}`);
    throw refusal('sets the priority of no other process', 'EPERM', 'uv_os_setpriority');
  });
}

function replaceForPid(holder: object, name: string, make: (original: AnyFunction) => AnyFunction): void {
  const original = membersOf(holder)[name];
  if (original) membersOf(holder)[name] = make(original.bind(holder));
}

function nameOf(signal: number): string {
  if (signal === 0) return 'a probe';
  return Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? `signal ${signal}`;
}
