/** Which places elsewhere are named. They are not asked here: this check needs no network, and says which one does. */
import { OrangeboxError } from '@orangebox/schema';
import type { CommandContext } from '../context.ts';
import { findPlaces, shownUrl } from '../places.ts';
import type { Check } from './check.ts';

/** A line for the trace backend and the store, if any is named. */
export async function checkPlaces(context: CommandContext): Promise<Check[]> {
  const name = 'elsewhere';
  try {
    const { source, store } = await findPlaces(context);
    const named = [source, store].filter((place) => place !== undefined);
    if (named.length === 0) return [];
    const message = `${named.map(({ url, basis }) => `${shownUrl(url)} (${basis})`).join(', ')}: not asked`;
    const hint =
      named.length === 2
        ? 'orangebox doctor --since 1h compares the two'
        : 'orangebox doctor --since 1h compares spans with objects, when source and store are named';
    return [{ name, result: 'ok', message, hint }];
  } catch (error) {
    if (!(error instanceof OrangeboxError)) throw error;
    const { message, hint } = error;
    return [{ name, result: 'problem', message, ...(hint === undefined ? {} : { hint }) }];
  }
}
