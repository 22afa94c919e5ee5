/** A call as a conversation. */
import type { Message, Snapshot, ToolExecution } from '@orangebox/schema';
import { escapeLine } from '../text/escape.ts';
import { formatDuration, millisecondsBetween, plural } from '../text/format.ts';
import { renderAttempts, renderFailure } from './attempts.ts';
import { renderHeader } from './header.ts';
import { renderMessage } from './message.ts';
import { newSince, toolNamesOf } from './new-messages.ts';
import type { Pen } from './pen.ts';
import { writeText } from './text-block.ts';
import { prettyJsonText, renderToolCall } from './tool-call.ts';

/** A snapshot to be shown, its views made anew. */
export interface ShownCall {
  snapshot: Snapshot;
  ref: string;
}

/** Options of {@link renderCall}. */
export interface RenderOptions {
  nowMs: number;
  /** The whole conversation, not only what is new. */
  all: boolean;
  /** One of several: the header leaves out what they share. */
  compact?: boolean;
  /** Earlier calls of the same session, oldest first. */
  earlier: readonly ShownCall[];
}

/** Writes a call: header, what is new in its request, its answer, attempts, failure. */
export function renderCall(pen: Pen, shown: ShownCall, options: RenderOptions): void {
  const { snapshot } = shown;
  renderHeader(pen, snapshot, shown.ref, options.nowMs, options.compact);
  pen.line();
  if (snapshot.tool !== undefined) {
    renderToolExecution(pen, snapshot.tool, snapshot);
    return;
  }
  if (snapshot.kind === 'llm') {
    renderRequest(pen, shown, options);
    renderAttempts(pen, snapshot);
    renderAnswer(pen, snapshot, [shown, ...options.earlier]);
  } else renderAttempts(pen, snapshot);
  renderFailure(pen, snapshot);
}

function renderRequest(pen: Pen, shown: ShownCall, options: RenderOptions): void {
  const c = pen.colors;
  const { snapshot } = shown;
  const all = snapshot.request?.messages ?? [];
  const fresh = options.all
    ? { seen: 0, messages: all }
    : newSince(
        snapshot,
        options.earlier.map((call) => call.snapshot),
      );
  const names = toolNamesOf([snapshot, ...options.earlier.map((call) => call.snapshot)]);
  if (fresh.seen > 0) {
    const before = options.earlier.find((call) => call.snapshot.id === fresh.continues?.id);
    pen.line(
      c.dim(`  … ${plural(fresh.seen, 'message')} as in ${before?.ref ?? 'the call before'} (--all shows them)`),
    );
    pen.line();
  }
  const tools = toolNamesOffered(snapshot);
  if (tools !== '' && fresh.seen === 0) {
    pen.line(c.dim(`  tools: ${tools}`));
    pen.line();
  }
  const previous = snapshot.request?.previousResponseId ?? snapshot.request?.conversationId;
  if (previous !== undefined) {
    pen.line(c.dim(`  goes on from ${escapeLine(previous)}, kept by the provider`));
    pen.line();
  }
  for (const message of fresh.messages) {
    renderMessage(pen, message, names);
    pen.line();
  }
}

function renderAnswer(pen: Pen, snapshot: Snapshot, calls: readonly ShownCall[]): void {
  const response = snapshot.response;
  if (response === undefined) return;
  const names = toolNamesOf(calls.map((call) => call.snapshot));
  for (const choice of response.choices) {
    const label = response.choices.length > 1 ? `choice ${choice.index + 1} of ${response.choices.length}` : '';
    const reason =
      choice.finishReason === undefined || NORMAL_FINISH.has(choice.finishReason)
        ? ''
        : `finish: ${choice.finishReason}`;
    const note = escapeLine([label, reason].filter((part) => part !== '').join(', '));
    renderMessage(pen, answerOf(choice.message), names, note === '' ? undefined : note);
    pen.line();
  }
  if (response.embeddings !== undefined) {
    const { count, dimensions } = response.embeddings;
    const size = dimensions === undefined ? '' : ` of ${dimensions.toLocaleString('en-US')} dimensions`;
    pen.line(`${pen.colors.green('▌')}${pen.colors.bold(pen.colors.green(plural(count, 'embedding')))}${size}`);
    pen.line();
  }
}

const NORMAL_FINISH = new Set(['stop', 'tool_calls', 'completed', 'end_turn', 'tool_use']);

function answerOf(message: Message): Message {
  return message.role === '' ? { ...message, role: 'assistant' } : message;
}

/** Names of the tools a request offers, whatever the protocol's shape. */
function toolNamesOffered(snapshot: Snapshot): string {
  const names = (snapshot.request?.tools ?? []).map((tool) => {
    if (typeof tool !== 'object' || tool === null || Array.isArray(tool)) return '?';
    const inner = tool['function'];
    const named = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner['name'] : tool['name'];
    return String(named ?? tool['type'] ?? '?');
  });
  const shown = names.slice(0, 12).join(', ');
  return escapeLine(names.length > 12 ? `${shown} and ${names.length - 12} more` : shown);
}

/** A function that takes one object, as nearly all tools do, reads better without the list around it. */
function onlyArgument(tool: ToolExecution): string {
  const text = tool.arguments ?? '';
  if (tool.basis !== 'wrapped' || !text.startsWith('[')) return text;
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.length === 1 && typeof list[0] === 'object' && list[0] !== null
      ? JSON.stringify(list[0])
      : text;
  } catch {
    return text;
  }
}

/** Writes a tool's run: what it was given, what it gave. */
export function renderToolExecution(pen: Pen, tool: ToolExecution, snapshot: Snapshot): void {
  const c = pen.colors;
  renderToolCall(
    pen,
    { name: tool.name, arguments: onlyArgument(tool), ...(tool.callId === undefined ? {} : { id: tool.callId }) },
    '  ',
  );
  if (tool.result !== undefined) {
    pen.line(`${c.yellow('▌')}${c.yellow('result')}`);
    writeText(pen, prettyJsonText(tool.result, (pen.width ?? 100) - 2), '  ');
  }
  const error = tool.error ?? snapshot.error;
  if (error !== undefined) {
    pen.line(`${c.red('▌')}${c.bold(c.red('failed'))}  ${escapeLine(error.type)}`);
    writeText(pen, error.message, '  ');
  }
  const took = formatDuration(millisecondsBetween(snapshot.time.startUnixNano, snapshot.time.endUnixNano));
  const basis =
    tool.basis === 'wrapped'
      ? `the function ran ${took}`
      : `read from the next request: ${took} between the answer that asked and the request that brought the result`;
  pen.line(`  ${c.dim(basis)}`);
}
