/** The lines above a conversation: what call this is, how it went, what it cost. */
import type { Exchange, Snapshot } from '@orangebox/schema';
import { escapeLine } from '../text/escape.ts';
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatTime,
  millisecondsBetween,
  plural,
} from '../text/format.ts';
import type { Pen } from './pen.ts';
import type { ShownCall } from './shown-call.ts';

/** Writes the header of a call. `compact`: without what the calls of a whole run share. */
export function renderHeader(pen: Pen, shown: ShownCall, nowMs: number, compact = false): void {
  const c = pen.colors;
  const { snapshot, ref } = shown;
  const running = shown.running === true;
  const exchange = snapshot.exchanges.at(-1);
  const failed = !running && (isFailure(exchange) || snapshot.response?.error !== undefined);
  const unusual = endedByCaller(exchange) || snapshot.fidelity.level === 'partial';
  const mark = running ? c.cyan('●') : failed ? c.red('●') : unusual ? c.yellow('●') : c.green('●');
  const took = formatDuration(millisecondsBetween(snapshot.time.startUnixNano, snapshot.time.endUnixNano));
  const parts = [
    c.bold(escapeLine(titleOf(snapshot))),
    c.yellow(ref),
    running ? c.cyan('running') : outcomeOf(pen, snapshot),
    took,
  ];
  pen.line(`${mark} ${parts.filter((p) => p !== '').join('  ')}`);
  for (const facts of [compact ? '' : whereLine(snapshot, nowMs), costLine(snapshot, running)]) {
    if (facts !== '') pen.line(`  ${c.dim(facts)}`);
  }
  if (shown.quarantined !== undefined) {
    pen.line(`  ${c.yellow(escapeLine(`the endpoint refused it (${shown.quarantined}); it stays on this machine`))}`);
  }
  if (exchange !== undefined && !compact && snapshot.kind === 'llm') {
    const client = snapshot.callSite === undefined ? '' : `  ${c.dim(`from ${escapeLine(snapshot.callSite)}`)}`;
    pen.line(`  ${c.dim(`${escapeLine(exchange.request.method)} ${escapeLine(exchange.request.url)}`)}${client}`);
  }
  if (snapshot.metadata !== undefined && Object.keys(snapshot.metadata).length > 0) {
    const tags = Object.entries(snapshot.metadata).map(
      ([k, v]) => `${k}=${typeof v === 'string' ? v : JSON.stringify(v)}`,
    );
    pen.line(`  ${c.dim(escapeLine(tags.join(' ')))}`);
  }
}

/** `chat gpt-4o-mini`, or what else is known. */
export function titleOf(snapshot: Snapshot): string {
  const call = snapshot.call;
  if (call !== undefined && snapshot.kind === 'llm') {
    const model = snapshot.response?.model ?? call.requestModel;
    return model === undefined ? call.operation : `${call.operation} ${model}`;
  }
  if (snapshot.tool !== undefined) return `tool ${snapshot.tool.name}`;
  const request = snapshot.exchanges.at(-1)?.request;
  return request === undefined ? snapshot.kind : `${request.method} ${request.url}`;
}

/** Whether the program itself ended the exchange. */
export function endedByCaller(exchange: Exchange | undefined): boolean {
  return exchange?.ending === 'caller_abort' || exchange?.ending === 'caller_stopped_reading';
}

/** Whether an exchange ended in anything but a complete answer of a good status, or by the program's own will. */
export function isFailure(exchange: Exchange | undefined): boolean {
  if (exchange === undefined || endedByCaller(exchange)) return false;
  return exchange.ending !== 'complete' || (exchange.response?.status ?? 0) >= 400;
}

function outcomeOf(pen: Pen, snapshot: Snapshot): string {
  const exchange = snapshot.exchanges.at(-1);
  if (exchange === undefined) return '';
  const c = pen.colors;
  const status = exchange.response?.status;
  // An error frame in a stream leaves a good status and a complete ending.
  const errorFrame = snapshot.response?.error !== undefined && !isFailure(exchange);
  const paint = isFailure(exchange) || errorFrame ? c.red : endedByCaller(exchange) ? c.yellow : c.green;
  const parts = [
    status === undefined ? '' : String(status),
    exchange.ending === 'complete' ? '' : exchange.ending.replaceAll('_', ' '),
    errorFrame ? 'error' : '',
  ];
  return paint(parts.filter((p) => p !== '').join(' '));
}

function whereLine(snapshot: Snapshot, nowMs: number): string {
  const parts = [`${formatTime(snapshot.time.startUnixNano)} (${agoText(snapshot.time.startUnixNano, nowMs)})`];
  if (snapshot.session !== undefined) {
    const user = snapshot.session.userId === undefined ? '' : ` of ${snapshot.session.userId}`;
    const place = snapshot.kind === 'tool' ? '' : `, call ${snapshot.session.seq + 1}`;
    parts.push(`session ${shortId(snapshot.session.id)}${user}${place}`);
  }
  // The convention's name for "nobody said" says nothing to a reader.
  if (!snapshot.process.serviceName.startsWith('unknown_service')) parts.push(snapshot.process.serviceName);
  return escapeLine(parts.filter((p) => p !== '').join(' · '));
}

/** `5m ago`, `just now`. */
export function agoText(unixNano: string, nowMs: number): string {
  const age = formatAge(unixNano, nowMs);
  return age === 'now' ? 'just now' : `${age} ago`;
}

/** An id as a list shows it: hashes and UUIDs shortened, names whole. */
export function shortId(id: string): string {
  return /^[0-9a-f]{16,}$/i.test(id) || /^[0-9a-f]{8}-[0-9a-f]{4}-/i.test(id) ? id.slice(0, 8) : id;
}

/** Finish reasons that need no word. */
export const NORMAL_FINISH: ReadonlySet<string> = new Set([
  'stop',
  'tool_calls',
  'function_call',
  'completed',
  'end_turn',
  'tool_use',
]);

function costLine(snapshot: Snapshot, running: boolean): string {
  const parts: string[] = [];
  if (snapshot.scope.length > 0) parts.push(snapshot.scope.map((frame) => frame.name).join(' › '));
  const usage = snapshot.response?.usage;
  if (usage?.inputTokens !== undefined) {
    const cached = usage.cacheReadInputTokens ? ` (${formatCount(usage.cacheReadInputTokens)} cached)` : '';
    parts.push(`${formatCount(usage.inputTokens)} tokens in${cached}`);
  }
  if (usage?.outputTokens !== undefined) {
    const thought = usage.reasoningTokens ? ` (${formatCount(usage.reasoningTokens)} reasoning)` : '';
    parts.push(`${formatCount(usage.outputTokens)} out${thought}`);
  }
  const response = snapshot.exchanges.at(-1)?.response;
  if (response !== undefined) {
    const first = response.chunks[0];
    if (snapshot.call?.stream === true && first !== undefined) {
      parts.push(`first chunk after ${formatDuration(Number(first.offsetNano) / 1e6)}`);
    }
    const chunks = response.chunks.length > 1 ? `${plural(response.chunks.length, 'chunk')}, ` : '';
    parts.push(`${chunks}${formatBytes(response.body.sizeBytes)}`);
  }
  const finish = (snapshot.response?.finishReasons ?? []).filter((reason) => !NORMAL_FINISH.has(reason));
  if (finish.length > 0) parts.push(`finish: ${finish.join(', ')}`);
  if (running) parts.push('so far');
  else if (snapshot.fidelity.level === 'partial')
    parts.push(`partial: ${snapshot.fidelity.reason.replaceAll('_', ' ')}`);
  else parts.push('exact');
  const secrets = snapshot.redactions.reduce((sum, redaction) => sum + redaction.count, 0);
  if (secrets > 0) parts.push(`${plural(secrets, 'secret')} replaced`);
  return escapeLine(parts.join(' · '));
}
