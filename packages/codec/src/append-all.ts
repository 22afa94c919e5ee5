/** Adding many items to a list: as arguments of `push` some hundred thousand of them overflow the stack. */

/** Adds the items at the end of the list. */
export function appendAll<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item);
}
