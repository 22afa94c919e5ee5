/** A call as a conversation. */
import type { Message, Snapshot, ToolExecution } from '@orangebox/schema';
import { escapeLine } from '../text/escape.ts';
import { formatDuration, millisecondsBetween, plural } from '../text/format.ts';
import { renderAttempts, renderFailure } from './attempts.ts';
import { decodeContent } from '@orangebox/store';
import { NORMAL_FINISH, renderHeader } from './header.ts';
import { renderHttp } from './http.ts';
import { renderMessage } from './message.ts';
import { newSince, toolNamesOf } from './new-messages.ts';
import type { Pen } from './pen.ts';
import type { ShownCall } from './shown-call.ts';
import { writeText } from './text-block.ts';
import { prettyJsonText, renderToolCall } from './tool-call.ts';

/** Options of {@link renderCall}. */
export interface RenderOptions {
  nowMs: number;
  /** The whole conversation, not only what is new. */
  all: boolean;
  /** One of several: what the reader sees elsewhere is left out. `tools`: the tool runs shown between the calls. */
  among?: { tools: readonly ToolExecution[] };
  /** Earlier calls of the same session, oldest first. */
  earlier: readonly ShownCall[];
}

/** Writes a call: header, what is new in its request, its answer, attempts, failure. */
export function renderCall(pen: Pen, shown: ShownCall, options: RenderOptions): void {
  const { snapshot } = shown;
  if (snapshot.tool !== undefined && options.among !== undefined) {
    renderToolRun(pen, snapshot.tool, shown);
    return;
  }
  renderHeader(pen, shown, options.nowMs, options.among !== undefined);
  pen.line();
  if (snapshot.tool !== undefined) {
    renderToolExecution(pen, snapshot.tool, snapshot);
    return;
  }
  if (snapshot.kind === 'llm') {
    renderRequest(pen, shown, options);
    renderAttempts(pen, snapshot);
    renderAnswer(pen, snapshot);
    if (options.among === undefined) renderResults(pen, snapshot);
  } else renderHttp(pen, snapshot, decodeContent);
  if (shown.running === true)
    pen.line(`${pen.colors.cyan('▌')}${pen.colors.cyan('so far')}  the call is still running`);
  else renderFailure(pen, snapshot);
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
  const names = toolNamesOf(
    snapshot,
    options.earlier.map((call) => call.snapshot),
  );
  const runs = options.among?.tools;
  const messages = fresh.messages.filter((message) => !isShownRun(message, runs));
  const seen = fresh.seen + fresh.messages.length - messages.length;
  if (seen > 0) {
    const before = options.earlier.find((call) => call.snapshot.id === fresh.continues?.id);
    const where = runs === undefined ? `as in ${before?.ref ?? 'the call before'} (--all shows them)` : 'as above';
    pen.line(c.dim(`  … ${plural(seen, 'message')} ${where}`));
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
  for (const message of messages) {
    renderMessage(pen, message, names);
    pen.line();
  }
}

/** Whether a message only brings the result of a tool run that has been shown. */
function isShownRun(message: Message, runs: readonly ToolExecution[] | undefined): boolean {
  const { toolResult } = message;
  if (toolResult?.callId === undefined) return false;
  return runs?.some((run) => run.callId === toolResult.callId && run.result === toolResult.content) ?? false;
}

function renderAnswer(pen: Pen, snapshot: Snapshot): void {
  const response = snapshot.response;
  if (response === undefined) return;
  const names = toolNamesOf(snapshot, []);
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

function answerOf(message: Message): Message {
  return message.role === '' ? { ...message, role: 'assistant' } : message;
}

/** What the tools that this call asked for gave: it stands in the next call, but this is where it is looked for. */
function renderResults(pen: Pen, snapshot: Snapshot): void {
  const c = pen.colors;
  const asked = (snapshot.response?.toolCalls ?? []).map((call) => call.id);
  const runs = (snapshot.toolExecutions ?? [])
    .filter((run) => run.result !== undefined || run.error !== undefined)
    .sort((a, b) => asked.indexOf(a.callId) - asked.indexOf(b.callId));
  if (runs.length === 0) return;
  pen.line(`${c.cyan('▌')}${c.bold('then')}  ${c.dim('what the tools gave')}`);
  for (const run of runs) {
    const id = run.callId === undefined ? '' : `  ${c.dim(escapeLine(run.callId))}`;
    pen.line(`  ${run.error === undefined ? c.yellow('←') : c.red('←')} ${c.bold(escapeLine(run.name))}${id}`);
    if (run.error !== undefined) writeText(pen, `${run.error.type}: ${run.error.message}`, '    ', c.red);
    else writeText(pen, prettyJsonText(run.result ?? '', (pen.width ?? 100) - 4), '    ');
  }
  pen.line();
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

/** Writes a tool's run in the midst of a session: its arguments stand in the answer above. */
function renderToolRun(pen: Pen, tool: ToolExecution, shown: ShownCall): void {
  const c = pen.colors;
  const { snapshot, ref } = shown;
  const error = tool.error ?? snapshot.error;
  const took = formatDuration(millisecondsBetween(snapshot.time.startUnixNano, snapshot.time.endUnixNano));
  const facts = [tool.callId === undefined ? '' : escapeLine(tool.callId), tool.basis].filter((fact) => fact !== '');
  const mark = error === undefined ? c.green('●') : c.red('●');
  pen.line(`${mark} ${c.bold(`tool ${escapeLine(tool.name)}`)}  ${c.yellow(ref)}  ${took}  ${c.dim(facts.join('  '))}`);
  // Without the model's id no answer above has the arguments.
  if (tool.callId === undefined && tool.arguments !== undefined) {
    renderToolCall(pen, { name: tool.name, arguments: onlyArgument(tool) }, '  ');
  }
  if (tool.result !== undefined) writeText(pen, prettyJsonText(tool.result, (pen.width ?? 100) - 2), '  ');
  if (error !== undefined) writeText(pen, `${error.type}: ${error.message}`, '  ', c.red);
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
