/** Hooks in facts of the machine and the process that differ from one run to the next. */
import type { CallSite, CallSites } from './call-site.ts';
import type { DrawPort, Undo } from './ports.ts';
import { type AnyFunction, replaceGetter, replaceMethod, undoAll } from './replace.ts';

const WARNING_CODE = 'node:internal/process/warning:';

/** Puts the hooks in place. */
export function hookHost(port: DrawPort, sites: CallSites): Undo {
  const os = process.getBuiltinModule('node:os');
  const number = (name: 'pid' | 'ppid'): Undo =>
    replaceGetter(process, name, (original) => {
      const get = (): unknown => {
        const site = sites.of(get, 'program') ?? warningOf(get);
        return site ? port.draw(`process.${name}`, site.at, () => Number(original())) : original();
      };
      return get;
    });
  /** The platform writes the number of the process into its warnings, which are output of the program. */
  const warningOf = (below: AnyFunction): CallSite | undefined => {
    const site = sites.of(below, 'program_and_platform');
    return site?.at.startsWith(WARNING_CODE) ? site : undefined;
  };
  const method = (name: 'hostname' | 'uptime' | 'freemem'): Undo =>
    replaceMethod(os, name, (original) => {
      const hooked: AnyFunction = () => {
        const site = sites.of(hooked, 'program');
        const real = (): string | number => original() as string | number;
        return site ? port.draw(`os.${name}`, site.at, real) : real();
      };
      // As the platform's, which is for `${os.hostname}`, but of this function.
      const [toPrimitive] = [() => hooked() as unknown];
      if (Object.hasOwn(original, Symbol.toPrimitive)) Object.assign(hooked, { [Symbol.toPrimitive]: toPrimitive });
      return hooked;
    });
  return undoAll([number('pid'), number('ppid'), method('hostname'), method('uptime'), method('freemem')]);
}
