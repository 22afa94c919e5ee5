import type { Exchange } from '@orangebox/schema';
import type { RecordedExchange } from './load.mjs';

/** The content decoder that readers in Node inject. */
export function decodeContent(encoding: string, bytes: Uint8Array): Uint8Array | undefined;
/** One line of the corpus as an exchange of a snapshot. */
export function exchangeOf(line: RecordedExchange): Exchange;
