/** Attempts of a call, and why it failed. */
import { describeCall } from '@orangebox/codec';
import type { Exchange, Snapshot } from '@orangebox/schema';
import { decodeContent } from '@orangebox/store';
import { escapeLine } from '../text/escape.ts';
import { formatDuration } from '../text/format.ts';
import { adviceFor } from './advice.ts';
import { endedByCaller, isFailure } from './header.ts';
import type { Pen } from './pen.ts';
import { writeText } from './text-block.ts';

/** Writes one line per attempt, with the wait before it, where a call had several. */
export function renderAttempts(pen: Pen, snapshot: Snapshot): void {
  if (snapshot.exchanges.length < 2) return;
  const c = pen.colors;
  const basis =
    snapshot.attemptsBasis === 'inferred' ? c.dim('  (joined by rule: the client sends no retry counter)') : '';
  pen.line(`${c.cyan('▌')}${c.bold('attempts')}${basis}`);
  for (const [i, exchange] of snapshot.exchanges.entries()) {
    const before = snapshot.exchanges[i - 1];
    const wait = before === undefined ? '' : c.dim(`after ${formatDuration(waitMs(before, exchange))}`);
    const status = exchange.response === undefined ? '' : String(exchange.response.status);
    const ending = exchange.ending === 'complete' ? '' : exchange.ending.replaceAll('_', ' ');
    const outcome = [status, ending].filter((p) => p !== '').join(' ');
    const took = formatDuration(Number(exchange.endOffsetNano) / 1e6);
    const paint = isFailure(exchange) ? c.red : c.green;
    const reason = isFailure(exchange) ? reasonOf(exchange) : '';
    const why = reason === '' ? '' : `  ${escapeLine(reason.slice(0, 160))}`;
    const url =
      exchange.request.url === snapshot.exchanges[0]?.request.url ? '' : `  ${c.dim(escapeLine(exchange.request.url))}`;
    pen.line(`  ${i + 1}  ${paint(outcome)}  ${c.dim(`took ${took}`)}${wait === '' ? '' : `  ${wait}`}${url}${why}`);
  }
  pen.line();
}

/** What the server said, else what the client saw. */
function reasonOf(exchange: Exchange): string {
  const answered = describeCall({ exchanges: [exchange] }, decodeContent).response.error;
  const [line = ''] = (answered?.message ?? exchange.error?.message ?? '').split('\n');
  return line;
}

function waitMs(before: Exchange, next: Exchange): number {
  const ended = BigInt(before.startUnixNano) + BigInt(before.endOffsetNano);
  return Math.max(0, Number(BigInt(next.startUnixNano) - ended) / 1e6);
}

/** Writes what failed and what to do next; nothing for a call that went well. */
export function renderFailure(pen: Pen, snapshot: Snapshot): void {
  const exchange = snapshot.exchanges.at(-1);
  const answered = snapshot.response?.error;
  const error = snapshot.error ?? exchange?.error;
  const c = pen.colors;
  if (endedByCaller(exchange)) {
    pen.line(
      `${c.yellow('▌')}${c.bold(c.yellow('ended'))}  ${adviceFor(exchange?.ending ?? 'complete', undefined, undefined) ?? ''}`,
    );
    return;
  }
  if (!isFailure(exchange) && answered === undefined && error === undefined) return;
  const status = exchange?.response?.status;
  const title =
    status !== undefined && status >= 400
      ? `${status} ${exchange?.response?.statusText ?? ''}`.trim()
      : (error?.type ?? exchange?.ending.replaceAll('_', ' ') ?? 'error');
  pen.line(`${c.red('▌')}${c.bold(c.red('failed'))}  ${escapeLine(title)}`);
  if (answered !== undefined) {
    const kind = [answered.type, answered.code].filter((part) => part !== undefined && part !== '').join(', ');
    writeText(pen, answered.message, '  ');
    if (kind !== '') pen.line(`  ${c.dim(escapeLine(kind))}`);
  } else if (error !== undefined) {
    // A DOMException's number says nothing to anybody.
    const code = error.code === undefined || /^\d+$/.test(error.code) ? '' : ` (${error.code})`;
    writeText(pen, `${error.message}${code}`, '  ');
  }
  const advice = hasErrorFrame(exchange, answered)
    ? 'the provider ended the stream with an error; what came before it is above'
    : adviceFor(exchange?.ending ?? 'complete', status, answered?.code);
  const tries = snapshot.exchanges.length;
  const gaveUp = tries > 1 ? `the client gave up after ${tries} tries; ` : '';
  if (advice !== undefined) pen.line(`  ${c.cyan('next:')} ${gaveUp}${advice}`);
}

function hasErrorFrame(exchange: Exchange | undefined, answered: object | undefined): boolean {
  return answered !== undefined && exchange?.ending === 'complete' && (exchange.response?.status ?? 0) < 400;
}
