/** What all that closes a way out of the process shares. */

// oxlint-disable-next-line typescript/no-explicit-any -- any function of the platform
export type AnyFunction = (this: any, ...args: any[]) => any;

/** Who is told what would have left the process. */
export interface RefusalHost {
  refused(what: string): void;
}

/** Members of an object, whatever its type says. */
export function membersOf(holder: object): Record<string, AnyFunction | undefined> {
  return holder as Record<string, AnyFunction | undefined>;
}

/** The error of a way out that is closed. */
export function refusal(what: string, code: 'ECONNREFUSED' | 'EPERM' = 'ECONNREFUSED', syscall = 'connect'): Error {
  return Object.assign(new Error(`a replay ${what}; it was refused`), { code, name: 'Error', syscall });
}
