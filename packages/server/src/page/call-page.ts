/** One call, tool execution or exchange as a page. */
import type { Snapshot } from '@orangebox/schema';
import { Budget } from './budget.ts';
import { commandsOf, type CommandWords } from './commands.ts';
import { conversationOf, toolRunOf } from './conversation.ts';
import type { Page } from './document.ts';
import { attemptsOf, exchangesOf } from './exchanges.ts';
import { durationOf, formatNano, formatTime, plural } from './format.ts';
import { html, type Html, marked } from './html.ts';
import type { Unpacking } from './unpacking.ts';

/** The page of a snapshot with its views. */
export async function callPage(
  snapshot: Snapshot,
  { words, running, unpacking }: { words: CommandWords; running: boolean; unpacking: Unpacking },
): Promise<Page> {
  const { traceId, spanId } = snapshot.trace;
  const base = `/t/${traceId}/${spanId}`;
  const budget = new Budget();
  const title = titleOf(snapshot);
  const content =
    snapshot.tool !== undefined
      ? toolRunOf(snapshot, snapshot.tool, budget)
      : snapshot.kind === 'llm'
        ? conversationOf(snapshot, budget)
        : undefined;
  const failure = failureOf(snapshot, budget);
  const exchanges = await exchangesOf(snapshot, base, { budget, unpacking });
  const body = html`<p class="crumbs"><a href="/t/${traceId}">trace ${traceId.slice(0, 8)}…</a> / span ${spanId}</p>
<h1>${marked(title.slice(0, 300))} ${outcomeOf(snapshot, running)}</h1>
${factsOf(snapshot)}
${failure}
${unreadOf(unpacking)}
${content}
${commandsOf(snapshot, words)}
${attemptsOf(snapshot)}
${exchanges}
${redactionsOf(snapshot)}
<p class="dim"><a href="${base}/snapshot.json">the whole snapshot</a> as JSON</p>`;
  return { status: 200, title: title.slice(0, 120), body, ...(running ? { refreshSeconds: 2 } : {}) };
}

/** What is missing below because a body was not read. */
function unreadOf({ unread }: Unpacking): Html | undefined {
  if (unread === 0) return undefined;
  return html`<p class="note">A compressed body was not read for the conversation: it does not decode, or is too large for a page. Its bytes are under <em>Raw exchange</em>.</p>`;
}

/** `chat gpt-4o-mini`, or what else is known. */
function titleOf(snapshot: Snapshot): string {
  const { call, tool } = snapshot;
  if (call !== undefined && snapshot.kind === 'llm') {
    const model = snapshot.response?.model ?? call.requestModel;
    return model === undefined ? call.operation : `${call.operation} ${model}`;
  }
  if (tool !== undefined) return `tool ${tool.name}`;
  const request = snapshot.exchanges.at(-1)?.request;
  return request === undefined ? snapshot.kind : `${request.method} ${request.url}`;
}

function outcomeOf(snapshot: Snapshot, running: boolean): Html | undefined {
  if (running) return html`<span class="warn">running</span>`;
  const last = snapshot.exchanges.at(-1);
  if (last === undefined) return undefined;
  const status = last.response?.status;
  const failed = last.ending !== 'complete' || (status ?? 0) >= 400 || snapshot.response?.error !== undefined;
  const ending = last.ending === 'complete' ? '' : ` ${last.ending.replaceAll('_', ' ')}`;
  return html`<span class="${failed ? 'bad' : 'ok'}">${status === undefined ? '' : String(status)}${ending}</span>`;
}

function factsOf(snapshot: Snapshot): Html {
  const { session, process, fidelity, response, scope } = snapshot;
  const usage = response?.usage;
  const tokens = [
    usage?.inputTokens === undefined ? '' : `${usage.inputTokens.toLocaleString('en-US')} in`,
    usage?.cacheReadInputTokens ? `${usage.cacheReadInputTokens.toLocaleString('en-US')} of them cached` : '',
    usage?.outputTokens === undefined ? '' : `${usage.outputTokens.toLocaleString('en-US')} out`,
    usage?.reasoningTokens ? `${usage.reasoningTokens.toLocaleString('en-US')} of them reasoning` : '',
  ];
  const [traceId, parent] = [snapshot.trace.traceId, snapshot.trace.parentSpanId];
  const rows: [string, Html | string | undefined][] = [
    ['started', `${formatTime(snapshot.time.startUnixNano)}, took ${formatNano(durationOf(snapshot.time))}`],
    ['session', session && html`${marked(session.id)} (call ${session.seq + 1}, ${session.basis})`],
    ['user', session?.userId === undefined ? undefined : marked(session.userId)],
    ['scope', scope.length === 0 ? undefined : marked(scope.map((frame) => frame.name).join(' › '))],
    ['tokens', tokens.filter((part) => part !== '').join(', ')],
    ['finish', response?.finishReasons.join(', ')],
    [
      'service',
      html`${marked(process.serviceName)} <span class="dim">process ${process.pid} on ${process.host}, node ${process.node}, orangebox ${process.orangebox}</span>`,
    ],
    [
      'called from',
      snapshot.callSite === undefined ? undefined : html`<span class="mono">${marked(snapshot.callSite)}</span>`,
    ],
    [
      'parent span',
      parent === undefined ? undefined : html`<a class="mono" href="/t/${traceId}/${parent}">${parent}</a>`,
    ],
    ['sampled', snapshot.trace.sampled ? undefined : 'no: a sampler dropped its span'],
    [
      'fidelity',
      fidelity.level === 'exact' ? 'exact: every byte of the wire' : `partial: ${fidelity.reason.replaceAll('_', ' ')}`,
    ],
    ['metadata', snapshot.metadata === undefined ? undefined : metadataOf(snapshot.metadata)],
  ];
  return html`<table class="facts">${rows
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => html`<tr><th>${name}</th><td>${value}</td></tr>`)}</table>`;
}

function metadataOf(metadata: object): Html {
  const pairs = Object.entries(metadata).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return marked(pairs.join(' ').slice(0, 2000));
}

function failureOf(snapshot: Snapshot, budget: Budget): Html | undefined {
  const error = snapshot.response?.error ?? (snapshot.tool === undefined ? snapshot.error : undefined);
  if (error === undefined) return undefined;
  const kind = [error.type, error.code].filter((part) => part !== undefined && part !== '').join(', ');
  return html`<div class="note bad"><strong class="bad">failed</strong> <span class="dim">${kind}</span>${budget.block(error.message, 'text')}</div>`;
}

function redactionsOf(snapshot: Snapshot): Html | undefined {
  const { redactions } = snapshot;
  if (redactions.length === 0) return undefined;
  const count = redactions.reduce((sum, redaction) => sum + redaction.count, 0);
  return html`<h2>Redactions</h2>
<p class="dim">${plural(count, 'secret')} replaced before anything was written.</p>
<table class="list"><tr><th>where</th><th>token</th><th>times</th></tr>
${redactions.slice(0, 200).map(({ where, token, count: times }) => html`<tr><td>${marked(where)}</td><td class="mono">${marked(token)}</td><td>${times}</td></tr>`)}</table>`;
}
