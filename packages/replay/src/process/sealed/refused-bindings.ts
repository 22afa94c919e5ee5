/**
 * The last doors: what the platform itself calls when a process is to start, a connection or datagram to go out, or a name to
 * be looked up. Whatever leads there, and by whatever module it was loaded before, comes no further.
 */
import { constants } from 'node:os';
import { type AnyFunction, membersOf, type RefusalHost } from './ways-out.ts';

const { EACCES, EPERM } = constants.errno;
/** As libuv has it. */
const EAI_FAIL = -3004;

/** What a way out is called, from the arguments of the platform's own function. */
type Naming = (args: readonly unknown[]) => string;

const address = ([, host, port]: readonly unknown[]): string => `connection to ${String(host)}:${String(port)}`;
const asked = ([, name]: readonly unknown[]): string => `look-up of ${String(name)}`;
const datagram = (): string => 'datagram';
const command = ([options]: readonly unknown[]): string =>
  `process ${String((options as { file?: unknown } | undefined)?.file)}`;

/** Binding, class or none, functions, what they give, and what they are told of as. */
const DOORS: readonly (readonly [
  binding: string,
  holder: string | undefined,
  names: RegExp,
  Naming,
  result: unknown,
])[] = [
  ['process_wrap', 'Process', /^spawn$/, command, -EPERM],
  ['spawn_sync', undefined, /^spawn$/, command, { error: -EACCES, pid: 0, status: null, signal: null, output: null }],
  ['tcp_wrap', 'TCP', /^connect6?$/, address, -EACCES],
  ['pipe_wrap', 'Pipe', /^connect$/, ([, path]) => `connection to ${String(path)}`, -EACCES],
  ['udp_wrap', 'UDP', /^(?:bind|connect|send)6?$/, datagram, -EACCES],
  ['cares_wrap', undefined, /^get(?:addr|name)info$/, asked, EAI_FAIL],
  ['cares_wrap', 'ChannelWrap', /^(?:query\w+|getHostByAddr)$/, asked, EAI_FAIL],
];

/** Closes them. A platform that does not show its bindings has the doors before them only. */
export function refuseAtBindings(host: RefusalHost): void {
  const { noDeprecation } = process;
  // What the program asked of warnings is about itself.
  process.noDeprecation = true;
  for (const [binding, holder, names, naming, result] of DOORS) {
    try {
      const whole = (process as unknown as { binding: AnyFunction }).binding(binding) as Record<string, object>;
      const members = holder === undefined ? whole : (whole[holder] as unknown as { prototype: object }).prototype;
      for (const name of Object.getOwnPropertyNames(members)) {
        if (!names.test(name)) continue;
        membersOf(members)[name] = (...args: unknown[]) => {
          host.refused(naming(args));
          return result;
        };
      }
    } catch {
      // This one is not shown.
    }
  }
  if (noDeprecation === undefined) delete (process as { noDeprecation?: boolean }).noDeprecation;
  else process.noDeprecation = noDeprecation;
}
