/** One message of a conversation. */
import type { Message } from '@orangebox/schema';
import { escapeLine, safeJson } from '../text/escape.ts';
import { formatBytes } from '../text/format.ts';
import type { Pen } from './pen.ts';
import { writeText } from './text-block.ts';
import { prettyJsonText, renderToolCall } from './tool-call.ts';

const INDENT = '  ';

/** Writes role, text, reasoning, refusal, tool calls, tool result and attachments. `toolNames`: name by tool call id. */
export function renderMessage(
  pen: Pen,
  message: Message,
  toolNames: ReadonlyMap<string, string>,
  label?: string,
): void {
  const c = pen.colors;
  const result = message.toolResult;
  if (result !== undefined) {
    const name = result.name ?? (result.callId === undefined ? undefined : toolNames.get(result.callId));
    const title = result.isError === true ? c.red('tool error') : c.yellow('tool result');
    const id = result.callId === undefined ? '' : `  ${c.dim(escapeLine(result.callId))}`;
    pen.line(`${c.yellow('▌')}${title}${name === undefined ? '' : ` ${c.bold(escapeLine(name))}`}${id}`);
    const content = prettyJsonText(result.content, (pen.width ?? 100) - INDENT.length);
    if (content.trim() === '') pen.line(`${INDENT}${c.dim('(empty)')}`);
    else writeText(pen, content, INDENT);
  } else {
    const paint = rolePaint(pen, message.role);
    pen.line(
      `${paint('▌')}${c.bold(paint(escapeLine(message.role)))}${label === undefined ? '' : c.dim(`  ${label}`)}`,
    );
  }
  if (message.reasoning !== undefined && message.reasoning !== '') {
    pen.line(`${INDENT}${c.dim('reasoning')}`);
    writeText(pen, message.reasoning, `${INDENT}${INDENT}`, c.dim);
  }
  // A tool's message has its result above; the same text again would only repeat it.
  if (message.text !== undefined && message.text !== '' && message.text !== result?.content)
    writeText(pen, message.text, INDENT);
  if (message.refusal !== undefined && message.refusal !== '') {
    pen.line(`${INDENT}${c.red('refused:')}`);
    writeText(pen, message.refusal, INDENT);
  }
  for (const call of message.toolCalls ?? []) renderToolCall(pen, call, INDENT);
  for (const part of message.attachments ?? []) {
    const size = part.sizeBytes === undefined ? '' : `, ${formatBytes(part.sizeBytes)}`;
    const name = part.name === undefined ? '' : ` ${escapeLine(part.name)}`;
    pen.line(`${INDENT}${c.dim(`[${escapeLine(part.type)}${name}${size}]`)}`);
  }
  if (isBare(message)) {
    if (message.raw === undefined) pen.line(`${INDENT}${c.dim('(empty)')}`);
    else writeText(pen, safeJson(message.raw, 2), INDENT, c.dim);
  }
}

function isBare(message: Message): boolean {
  return (
    !message.text &&
    !message.reasoning &&
    !message.refusal &&
    message.toolResult === undefined &&
    (message.toolCalls ?? []).length === 0 &&
    (message.attachments ?? []).length === 0
  );
}

function rolePaint(pen: Pen, role: string): (text: string) => string {
  const c = pen.colors;
  switch (role) {
    case 'user':
      return c.blue;
    case 'assistant':
      return c.green;
    case 'system':
    case 'developer':
      return c.magenta;
    default:
      return c.cyan;
  }
}
