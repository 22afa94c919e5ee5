/** Which places commands read, in lines for a person. */
import { type Places, shownUrl } from './places.ts';
import type { Terminal } from './terminal.ts';

/** One line for each place but the local recordings: what it is, where, and who named it. */
export function placeLines({ source, store }: Places, terminal: Pick<Terminal, 'colors'>): string[] {
  const c = terminal.colors;
  const line = (what: string, url: string, basis: string): string =>
    `  ${c.dim(what)}  ${shownUrl(url)} ${c.dim(`(${basis})`)}`;
  return [
    ...(source === undefined ? [] : [line('source', source.url, source.basis)]),
    ...(store === undefined ? [] : [line('store ', store.url, store.basis)]),
  ];
}
