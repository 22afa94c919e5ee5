/** The very end of the process: after every listener of `exit`, so that what they write counts. */
import { type AnyFunction, replaceMethod } from './replace.ts';
import type { Undo } from './ports.ts';

/** Calls `work` once, when all listeners of `exit` are through. Never throws into the program. */
export function whenProcessEnds(work: (exitCode: number) => void): Undo {
  let isDone = false;
  return replaceMethod(process, 'emit', (original) => {
    const emit: AnyFunction = function emit(this: unknown, ...args) {
      const result: unknown = Reflect.apply(original, this, args);
      if (args[0] === 'exit' && !isDone) {
        isDone = true;
        const { exitCode } = process;
        work(Number(exitCode ?? args[1] ?? 0));
      }
      return result;
    };
    return emit;
  });
}
