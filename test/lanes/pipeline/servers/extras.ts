/** Members of one kind of server beside those of all. */

/** Adds members to a server in place: copying it would freeze what its getters say. */
export function withExtras<S extends object, T extends object>(server: S, extras: T): S & T {
  return Object.defineProperties(server, Object.getOwnPropertyDescriptors(extras)) as S & T;
}
