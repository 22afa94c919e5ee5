/** `orangebox resend REF`: the same request again, live, compared with the recording. */
import { type Comparison, withViews } from '@orangebox/codec';
import { compare, type ResendPlan, type ResentCall, resend } from '@orangebox/replay';
import { OrangeboxError, type Snapshot } from '@orangebox/schema';
import { decodeContent, type SnapshotStore } from '@orangebox/store';
import { confirm } from '../ask.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { loadOne, openStore } from '../open-store.ts';
import { parseCount } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { renderComparison } from '../show/comparison.ts';
import { isFailure } from '../show/header.ts';
import { type Pen, penFor } from '../show/pen.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { formatBytes, formatDuration, millisecondsBetween, plural } from '../text/format.ts';

/** Options of `resend`. */
export interface ResendCommandOptions {
  number?: string;
  baseUrl?: string;
  allowEffects?: boolean;
  yes?: boolean;
  keep?: boolean;
  json?: boolean;
}

interface Compared {
  call: ResentCall;
  comparison: Comparison;
}

/** Sends the recorded request N times after asking, and compares each answer. Exit code 1 where one is different. */
export async function resendCommand(
  context: CommandContext,
  reference: string,
  options: ResendCommandOptions,
): Promise<number> {
  const { terminal } = context;
  const n = options.number === undefined ? 1 : parseCount(options.number, '-n', 1, 1000);
  const { store } = await openStore(context, { orEmpty: true });
  try {
    const { entry, snapshot, store: owner } = await loadOne(context, reference, store);
    let done = 0;
    const sending = resend(snapshot, {
      store: owner,
      cwd: context.cwd,
      n,
      env: context.env.all,
      allowEffects: options.allowEffects === true,
      ...(options.baseUrl === undefined ? {} : { baseUrl: options.baseUrl }),
      confirm: (plan) => agree(context, plan, options),
      onResult: () => void done++,
    });
    const result = await withProgress(
      terminal,
      () => (n === 1 ? 'waiting for the answer' : `${done} of ${n} answered`),
      sending,
    );
    const compared: Compared[] = [];
    for (const call of result.calls) compared.push({ call, comparison: await compare(snapshot, call.snapshot) });
    const kept = options.keep === false || owner.kind === 'memory' ? [] : await keep(owner, result.calls);
    if (options.json === true)
      terminal.line(safeJson({ plan: result.plan, calls: compared.map((c, i) => jsonOf(c, kept[i])) }, 2));
    else await report(context, entry.ref, compared, kept);
    return exitCode(snapshot, compared);
  } finally {
    await store.close();
  }
}

function jsonOf({ call, comparison }: Compared, key: string | undefined): object {
  return {
    spanId: call.snapshot.trace.spanId,
    ...(key === undefined ? {} : { key }),
    comparison,
    snapshot: withViews(call.snapshot, decodeContent),
  };
}

/** Shows what would be sent, and asks. */
async function agree(context: CommandContext, plan: ResendPlan, options: ResendCommandOptions): Promise<boolean> {
  const { terminal } = context;
  if (options.json !== true || options.yes !== true) writePlan(context, plan);
  if (options.yes === true) return true;
  const times = plan.n === 1 ? 'once' : `${plan.n} times`;
  if (await confirm(context, `Send it ${times}? This may cost money.`, 'sending a live request')) return true;
  terminal.note('nothing was sent');
  throw new OrangeboxError('OBX_RESEND_REFUSED', 'not sent, as answered');
}

function writePlan(context: CommandContext, plan: ResendPlan): void {
  const { terminal } = context;
  const c = terminal.errorColors;
  const model = plan.model === undefined ? '' : `, model ${plan.model}`;
  terminal.note(
    `${c.bold(escapeLine(`${plan.method} ${plan.url}`))}${escapeLine(model)}, ${formatBytes(plan.bodySizeBytes)}`,
  );
  if (plan.credential === undefined) terminal.note(c.dim('  no credential goes along'));
  else terminal.note(c.dim(escapeLine(`  ${plan.credential.header} from $${plan.credential.variable}`)));
  if (plan.renewed.length > 0) terminal.note(c.dim(escapeLine(`  renewed: ${plan.renewed.join(', ')}`)));
  if (plan.dropped.length > 0) terminal.note(c.dim(escapeLine(`  left out: ${plan.dropped.join(', ')}`)));
  if (plan.effects.length > 0)
    terminal.note(c.yellow(escapeLine(`  effects on the server: ${plan.effects.join(', ')}`)));
}

/** Keeps the new calls, so that they can be shown and compared later. */
async function keep(store: SnapshotStore, calls: readonly ResentCall[]): Promise<string[]> {
  const keys: string[] = [];
  for (const call of calls) keys.push(await store.put(call.snapshot));
  return keys;
}

async function report(
  context: CommandContext,
  ref: string,
  compared: readonly Compared[],
  kept: readonly string[],
): Promise<void> {
  const { terminal } = context;
  const c = terminal.colors;
  const pen = penFor(terminal);
  for (const [i, { call, comparison }] of compared.entries()) {
    const { snapshot } = call;
    const exchange = snapshot.exchanges.at(-1);
    const status =
      exchange?.response === undefined
        ? (exchange?.ending.replaceAll('_', ' ') ?? '')
        : String(exchange.response.status);
    const took = formatDuration(millisecondsBetween(snapshot.time.startUnixNano, snapshot.time.endUnixNano));
    const number = compared.length > 1 ? `${i + 1}  ` : '';
    const name = kept[i] === undefined ? 'resent' : snapshot.trace.spanId.slice(0, 8);
    terminal.line(`${number}${c.yellow(name)}  ${isFailure(exchange) ? c.red(status) : c.green(status)}  ${took}`);
    renderComparison(pen, comparison, { left: `recorded ${ref}`, right: 'resent', indent: '  ' });
  }
  if (compared.length > 1) await writeNoise(pen, compared);
  else if (terminal.interactive) {
    terminal.line(c.dim(`  one answer says little: -n 5 shows how much the model varies by itself`));
  }
}

/** How much the resent answers differ among themselves: a difference to the recording below that says nothing. */
async function writeNoise(pen: Pen, compared: readonly Compared[]): Promise<void> {
  const counts = { identical: 0, equivalent: 0, different: 0 };
  for (let i = 0; i < compared.length; i++) {
    for (let j = i + 1; j < compared.length; j++) {
      const [a, b] = [compared[i], compared[j]];
      if (a !== undefined && b !== undefined) counts[(await compare(a.call.snapshot, b.call.snapshot)).verdict]++;
    }
  }
  const pairs = counts.identical + counts.equivalent + counts.different;
  const against = compared.filter(({ comparison }) => comparison.verdict === 'different').length;
  pen.line();
  pen.line(`${pen.colors.bold('against the recording')}  ${against} of ${compared.length} different`);
  pen.line(
    `${pen.colors.bold('noise floor')}            ${counts.different} of ${plural(pairs, 'pair')} of resent answers different among themselves, ${counts.equivalent} equivalent, ${counts.identical} identical`,
  );
}

function exitCode(original: Snapshot, compared: readonly Compared[]): number {
  const hadAnswer = original.exchanges.at(-1)?.response !== undefined;
  if (hadAnswer && compared.some(({ call }) => call.snapshot.exchanges.at(-1)?.response === undefined))
    return EXIT.network;
  return compared.some(({ comparison }) => comparison.verdict === 'different') ? EXIT.finding : EXIT.ok;
}
