/** What is known of a call whose bytes cannot be loaded: what the list knows. */
import { hasFailed, type StoredEntry } from '@orangebox/store';
import { nameOf, outcomeOf, placeOf, scopeOf, sessionOf } from '../entry-facts.ts';
import { escapeLine } from '../text/escape.ts';
import { formatCount, formatDuration, formatTime, millisecondsBetween } from '../text/format.ts';
import { agoText } from './header.ts';
import type { Pen } from './pen.ts';

/** Writes a call's line, and below it when it was, where it belongs and how it failed. */
export function renderKnownFacts(pen: Pen, entry: StoredEntry, nowMs: number): void {
  const c = pen.colors;
  const failed = hasFailed(entry);
  const { startUnixNano, endUnixNano } = entry.time;
  const took = entry.status === 'open' ? '' : formatDuration(millisecondsBetween(startUnixNano, endUnixNano));
  const outcome = outcomeOf(entry);
  const head = [c.bold(nameOf(entry)), c.yellow(entry.ref), failed ? c.red(outcome) : c.green(outcome), took];
  pen.line(`${failed ? c.red('●') : c.yellow('●')} ${head.filter((part) => part !== '').join('  ')}`);
  const place = placeOf(entry);
  const session = entry.session === undefined ? '' : `session ${sessionOf(entry)}${place && `, call ${place}`}`;
  const { inputTokens, outputTokens } = entry.summary ?? {};
  const facts = [
    `${formatTime(startUnixNano)} (${agoText(startUnixNano, nowMs)})`,
    session,
    scopeOf(entry),
    inputTokens === undefined ? '' : `${formatCount(inputTokens)} tokens in`,
    outputTokens === undefined ? '' : `${formatCount(outputTokens)} out`,
  ];
  pen.line(`  ${c.dim(facts.filter((part) => part !== '').join(' · '))}`);
  if (entry.request !== undefined) pen.line(`  ${c.dim(escapeLine(`${entry.request.method} ${entry.request.url}`))}`);
  if (entry.quarantined !== undefined)
    pen.line(`  ${c.yellow(escapeLine(`the endpoint refused it (${entry.quarantined}); it stays on this machine`))}`);
  if (entry.error !== undefined) pen.line(`  ${c.red(escapeLine(`${entry.error.type}: ${entry.error.message}`))}`);
}
