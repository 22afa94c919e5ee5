/** What keys and types JSON values have, as a set of paths, to say that one form is a subset of others. */

/** Adds `path:type` of all values to `into`; array elements share the path `[]`. Values below a path in `opaque` are not looked at. */
export function addShape(value: unknown, into: Set<string>, opaque: readonly string[] = [], path = '$'): void {
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  into.add(`${path}:${type}`);
  if (type !== 'array' && type !== 'object') return;
  if (opaque.some((o) => path.endsWith(o))) return;
  if (Array.isArray(value)) for (const element of value) addShape(element, into, opaque, `${path}[]`);
  else for (const [key, v] of Object.entries(value as object)) addShape(v, into, opaque, `${path}.${key}`);
}

/** One event of a stream: its name, if it has one, and its data. */
export interface StreamEvent {
  name: string | undefined;
  data: string;
}

/** Splits a stream of server-sent events; enough for forms written by one's own side. */
export function eventsOf(text: string): StreamEvent[] {
  return text
    .split(/\r?\n\r?\n/)
    .map((block) => block.split(/\r?\n/))
    .map((lines) => ({
      name: lines
        .find((l) => l.startsWith('event:'))
        ?.slice(6)
        .trim(),
      data: lines
        .filter((l) => l.startsWith('data:'))
        .map((l) => l.slice(5).trimStart())
        .join('\n'),
    }))
    .filter((event) => event.data !== '');
}

/** The order of event kinds with repetitions folded, as pairs `a > b`; how a form may go on. */
export function transitionsOf(kinds: readonly string[]): Set<string> {
  const pairs = new Set<string>();
  let previous = 'start';
  for (const kind of [...kinds, 'end']) {
    if (kind !== previous) pairs.add(`${previous} > ${kind}`);
    previous = kind;
  }
  return pairs;
}
