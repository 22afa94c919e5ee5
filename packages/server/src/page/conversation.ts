/** A call as a conversation: what was sent, what came back, what its tools gave. */
import type { Message, Snapshot, ToolCall, ToolExecution } from '@orangebox/schema';
import type { Budget } from './budget.ts';
import { formatBytes, plural } from './format.ts';
import { html, type Html } from './html.ts';

/** Messages and tool runs on a page; the newest of more. */
const LISTED_MAX = 500;

/** Tool calls and attachments of one message. */
const PARTS_MAX = 100;

/** Messages of the request that are open at once; those before them are folded. */
const OPEN_MESSAGES = 30;

/** Name of each tool by the id of the call that asked for it. */
type ToolNames = ReadonlyMap<string, string>;

/** Roles that have a colour of their own. */
const ROLES = new Set(['user', 'assistant', 'system', 'developer', 'tool']);

/** Request, answer and tool results of a call. */
export function conversationOf(snapshot: Snapshot, budget: Budget): Html {
  const all = snapshot.request?.messages ?? [];
  const messages = all.slice(-LISTED_MAX);
  const choices = (snapshot.response?.choices ?? []).slice(0, PARTS_MAX);
  const names: ToolNames = new Map(
    all.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => [call.id ?? '', call.name] as const)),
  );
  // The answer is what one came for, so it takes its share first.
  const answer = choices.map((choice) =>
    messageOf(
      choice.message.role === '' ? { ...choice.message, role: 'assistant' } : choice.message,
      budget,
      names,
      [
        choices.length > 1 ? `choice ${choice.index + 1} of ${choices.length}` : '',
        choice.finishReason === undefined ? '' : `finish: ${choice.finishReason}`,
      ]
        .filter((part) => part !== '')
        .join(', '),
    ),
  );
  const open = messages.slice(-OPEN_MESSAGES).map((message) => messageOf(message, budget, names));
  const folded = messages.slice(0, -OPEN_MESSAGES).map((message) => messageOf(message, budget, names));
  const tools = offeredTools(snapshot);
  return html`<h2>Conversation</h2>
${tools === '' ? undefined : html`<p class="dim">tools offered: ${tools}</p>`}
${all.length > messages.length ? html`<p class="dim">${plural(all.length - messages.length, 'message')} before these: in the whole snapshot</p>` : undefined}
${folded.length === 0 ? undefined : html`<details><summary>${plural(folded.length, 'earlier message')}</summary>${folded}</details>`}
${open}
${answer.length === 0 ? undefined : html`<h2>Answer</h2>${answer}`}
${embeddingsOf(snapshot)}
${resultsOf(snapshot.toolExecutions ?? [], budget)}`;
}

/** A tool's own snapshot. */
export function toolRunOf(snapshot: Snapshot, tool: ToolExecution, budget: Budget): Html {
  const error = tool.error ?? snapshot.error;
  return html`<h2>Tool execution</h2>
<article class="message tool"><header>${tool.name} <span class="dim">${tool.basis}${tool.callId === undefined ? '' : `, ${tool.callId}`}</span></header>
${tool.arguments === undefined ? undefined : html`<p class="dim">arguments</p>${budget.block(pretty(tool.arguments), 'mono')}`}
${tool.result === undefined ? undefined : html`<p class="dim">result</p>${budget.block(pretty(tool.result), 'mono')}`}
${error === undefined ? undefined : html`<p class="bad">${error.type}</p>${budget.block(error.message, 'mono')}`}
</article>`;
}

function messageOf(message: Message, budget: Budget, names: ToolNames, note = ''): Html {
  const result = message.toolResult;
  const role = result === undefined ? message.role : 'tool';
  const label =
    result === undefined
      ? message.role
      : `tool result${result.isError === true ? ' (error)' : ''} ${result.name ?? names.get(result.callId ?? '') ?? ''}`;
  const id = result?.callId;
  const text = message.text === result?.content ? undefined : message.text;
  const parts: Html[] = [];
  if (budget.spent) parts.push(html`<p class="dim">not shown: the page is full (the whole snapshot is below)</p>`);
  else {
    if (message.reasoning) parts.push(html`<p class="dim">reasoning</p>${budget.block(message.reasoning, 'dim')}`);
    if (result !== undefined) parts.push(budget.block(pretty(result.content), 'mono'));
    if (text) parts.push(budget.block(text, 'text'));
    if (message.refusal) parts.push(html`<p class="bad">refused</p>${budget.block(message.refusal, 'text')}`);
    for (const call of (message.toolCalls ?? []).slice(0, PARTS_MAX)) parts.push(toolCallOf(call, budget));
    for (const part of (message.attachments ?? []).slice(0, PARTS_MAX)) {
      const size = part.sizeBytes === undefined ? '' : `, ${formatBytes(part.sizeBytes)}`;
      parts.push(html`<p class="dim">[${part.type}${part.name === undefined ? '' : ` ${part.name}`}${size}]</p>`);
    }
    if (parts.length === 0) {
      parts.push(
        message.raw === undefined ? html`<p class="dim">(empty)</p>` : budget.block(jsonOf(message.raw), 'mono'),
      );
    }
  }
  return html`<article class="message ${ROLES.has(role) ? role : 'other'}"><header>${label}${id === undefined ? undefined : html` <span class="dim mono">${id}</span>`}${note === '' ? undefined : html` <span class="dim">${note}</span>`}</header>
${parts}</article>`;
}

function toolCallOf(call: ToolCall, budget: Budget): Html {
  const type = call.type === undefined || call.type === 'function' ? '' : ` (${call.type})`;
  return html`<div class="call">→ <strong class="mono">${call.name}</strong>${type} <span class="dim mono">${call.id ?? ''}</span>${
    call.arguments.trim() === '' ? undefined : budget.block(pretty(call.arguments), 'mono')
  }</div>`;
}

function resultsOf(runs: readonly ToolExecution[], budget: Budget): Html | undefined {
  const ended = runs.filter((run) => run.result !== undefined || run.error !== undefined).slice(0, PARTS_MAX);
  if (ended.length === 0) return undefined;
  return html`<h2>What the tools gave</h2>
${ended.map(
  (
    run,
  ) => html`<article class="message tool"><header>${run.name} <span class="dim mono">${run.callId ?? ''}</span> <span class="dim">${run.basis}</span></header>
${run.error === undefined ? budget.block(pretty(run.result ?? ''), 'mono') : html`<p class="bad">${run.error.type}</p>${budget.block(run.error.message, 'mono')}`}</article>`,
)}`;
}

function embeddingsOf(snapshot: Snapshot): Html | undefined {
  const embeddings = snapshot.response?.embeddings;
  if (embeddings === undefined) return undefined;
  const size =
    embeddings.dimensions === undefined ? '' : ` of ${embeddings.dimensions.toLocaleString('en-US')} dimensions`;
  return html`<h2>Answer</h2><p>${plural(embeddings.count, 'embedding')}${size}</p>`;
}

/** Names of the tools a request offers, whatever the protocol's shape. */
function offeredTools(snapshot: Snapshot): string {
  const names = (snapshot.request?.tools ?? []).map((tool) => {
    if (typeof tool !== 'object' || tool === null || Array.isArray(tool)) return '?';
    const inner = tool['function'];
    const named = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner['name'] : tool['name'];
    return typeof named === 'string' ? named.slice(0, 100) : '?';
  });
  return names.length > 20 ? `${names.slice(0, 20).join(', ')} and ${names.length - 20} more` : names.join(', ');
}

/** Longer JSON is left as it is: making it readable would double what is in memory. */
const PRETTY_MAX = 200_000;

/** JSON text over several lines; any other text as it is. */
export function pretty(text: string): string {
  if (text.length > PRETTY_MAX || !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value, undefined, 2) ?? '';
  } catch {
    return '(nested too deep to show)';
  }
}
