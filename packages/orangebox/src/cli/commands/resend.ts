/** `orangebox resend REF`: the same request again, live, compared with the recording. */
import { type Comparison, withViews } from '@orangebox/codec';
import { readConfig } from '@orangebox/recorder';
import { compareResent, type NoiseComparison, type ResendPlan, type ResentCall, resend } from '@orangebox/replay';
import type { Snapshot } from '@orangebox/schema';
import { decodeContent, type SnapshotStore } from '@orangebox/store';
import { confirm } from '../ask.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { JoinedStore } from '../joined-store.ts';
import { loadOne } from '../look-up.ts';
import { openStore } from '../open-store.ts';
import { parseCount } from '../parse-options.ts';
import { withProgress } from '../progress.ts';
import { reportError } from '../report-error.ts';
import { renderComparison } from '../show/comparison.ts';
import { isFailure } from '../show/header.ts';
import { type NextCommand, quoteId, writeNext } from '../show/next-commands.ts';
import { type Pen, penFor } from '../show/pen.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { formatBytes, formatDuration, millisecondsBetween, plural } from '../text/format.ts';
import { WindowedStore } from '../windowed-store.ts';

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
    let agreed = false;
    const sending = resend(snapshot, {
      store: owner,
      cwd: context.cwd,
      n,
      env: context.env.all,
      redactPatterns: redactPatterns(context),
      allowEffects: options.allowEffects === true,
      ...(options.baseUrl === undefined ? {} : { baseUrl: options.baseUrl }),
      confirm: async (plan) => {
        agreed = await agree(context, plan, options);
        return agreed;
      },
      onResult: () => void done++,
    });
    const result = await withProgress(
      terminal,
      () => (!agreed ? undefined : n === 1 ? 'waiting for the answer' : `${done} of ${n} answered`),
      sending,
    );
    const noise = compareResent(result);
    const compared = result.calls.flatMap((call, i): Compared[] => {
      const comparison = noise.comparisons[i];
      return comparison === undefined ? [] : [{ call, comparison }];
    });
    // What a URL led to is only read; new calls go to the recordings of this machine.
    const target = owner instanceof WindowedStore ? store : owner;
    const kept = options.keep !== false && takesCalls(target) ? await keep(context, target, result.calls) : [];
    if (options.keep !== false && target.kind !== 'memory' && !takesCalls(target))
      terminal.note('the new calls are not kept: there are no local recordings here, and --dir names none');
    if (options.json === true)
      terminal.line(safeJson({ plan: result.plan, calls: compared.map((c, i) => jsonOf(c, kept[i])) }, 2));
    else {
      const refs = kept.length === 0 ? new Map<string, string>() : await refsOf(target, result.calls);
      report(context, { ref: entry.ref, baseUrl: options.baseUrl }, compared, refs, noise);
    }
    return exitCode(snapshot, compared);
  } finally {
    await store.close();
  }
}

/** `ORANGEBOX_REDACT` holds for what a resend keeps as for what a program records. */
function redactPatterns({ env, terminal }: CommandContext): RegExp[] {
  const { redactPatterns: patterns } = readConfig(env.all, (variable, message) => {
    if (variable === 'ORANGEBOX_REDACT') terminal.note(message);
  });
  return patterns;
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
  if (options.json !== true || options.yes !== true) writePlan(context, plan);
  if (options.yes === true) return true;
  const times = plan.n === 1 ? 'once' : `${plan.n} times`;
  return confirm(context, `Send it ${times}? This may cost money.`, 'sending a live request');
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

/** Whether new calls can be kept in a store. */
function takesCalls(store: SnapshotStore): boolean {
  return store.kind !== 'memory' && (!(store instanceof JoinedStore) || store.keeps);
}

/** Keeps the new calls, so that they can be shown and compared later. What was spent is reported even if that fails. */
async function keep(context: CommandContext, store: SnapshotStore, calls: readonly ResentCall[]): Promise<string[]> {
  const keys: string[] = [];
  try {
    for (const call of calls) keys.push(await store.put(call.snapshot));
  } catch (error) {
    reportError(error, context.terminal, context.env.debug);
    context.terminal.note('the new calls are not kept');
  }
  return keys;
}

/** Short references of the new calls by span id. */
async function refsOf(store: SnapshotStore, calls: readonly ResentCall[]): Promise<Map<string, string>> {
  const starts = calls.map(({ snapshot }) => Number(BigInt(snapshot.time.startUnixNano) / 1_000_000n));
  const refs = new Map<string, string>();
  for await (const entry of store.list({ sinceUnixMs: Math.min(...starts) })) refs.set(entry.trace.spanId, entry.ref);
  return refs;
}

function report(
  context: CommandContext,
  { ref, baseUrl }: { ref: string; baseUrl: string | undefined },
  compared: readonly Compared[],
  refs: ReadonlyMap<string, string>,
  noise: NoiseComparison,
): void {
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
    const name = refs.get(snapshot.trace.spanId) ?? 'resent';
    terminal.line(`${number}${c.yellow(name)}  ${isFailure(exchange) ? c.red(status) : c.green(status)}  ${took}`);
    // Without an answer there is nothing to compare.
    if (exchange?.response === undefined && exchange?.error !== undefined)
      terminal.line(`  ${c.red('no answer')}  ${escapeLine(exchange.error.message)}`);
    else renderComparison(pen, comparison, '  ');
  }
  if (compared.length > 1) writeNoise(pen, noise);
  if (!terminal.interactive) return;
  const next: NextCommand[] = [];
  const [first] = compared;
  const firstRef = first === undefined ? undefined : refs.get(first.call.snapshot.trace.spanId);
  if (first?.call.snapshot.exchanges.at(-1)?.response !== undefined) {
    if (firstRef !== undefined) next.push([`orangebox diff ${ref} ${firstRef}`, 'the two again: - recorded, + resent']);
    const place = baseUrl === undefined ? '' : ` --base-url ${quoteId(baseUrl)}`;
    if (compared.length === 1)
      next.push([`orangebox resend ${ref}${place} -n 5`, 'how much the model varies by itself']);
  }
  writeNext(terminal, next);
}

/** How much the resent answers differ among themselves: a difference to the recording below that says nothing. */
function writeNoise(pen: Pen, noise: NoiseComparison): void {
  const floor = noise.noiseFloor;
  if (floor === undefined) return;
  const { bold } = pen.colors;
  const pairs = floor.identical + floor.equivalent + floor.different;
  const answers = noise.comparisons.length;
  pen.line();
  pen.line(`${bold('against the recording')}  ${noise.againstRecording.different} of ${answers} different`);
  pen.line(
    `${bold('noise floor')}            ${floor.different} of ${plural(pairs, 'pair')} of resent answers different, ${floor.equivalent} equivalent, ${floor.identical} identical`,
  );
}

function exitCode(original: Snapshot, compared: readonly Compared[]): number {
  const hadAnswer = original.exchanges.at(-1)?.response !== undefined;
  if (hadAnswer && compared.some(({ call }) => call.snapshot.exchanges.at(-1)?.response === undefined))
    return EXIT.network;
  return compared.some(({ comparison }) => comparison.verdict === 'different') ? EXIT.finding : EXIT.ok;
}
