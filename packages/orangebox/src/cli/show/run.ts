/** The calls of a session or trace, one after the other; only a window of them is held in memory. */
import { OrangeboxError, type ToolExecution } from '@orangebox/schema';
import type { ResolvedReference, SnapshotStore, StoredEntry } from '@orangebox/store';
import { escapeLine } from '../text/escape.ts';
import { renderCall } from './call.ts';
import { renderKnownFacts } from './known-facts.ts';
import { LOOK_BACK, loadCall } from './load-calls.ts';
import type { Pen } from './pen.ts';
import { renderRunHeader } from './run-header.ts';
import type { ShownCall } from './shown-call.ts';

/** Writes them in order, each without what stands above it. A call that is lost or damaged is one line. Gives the last call. */
export async function renderRun(
  pen: Pen,
  resolved: ResolvedReference,
  options: { nowMs: number; all: boolean },
): Promise<ShownCall | undefined> {
  const { entries, store } = resolved;
  renderRunHeader(pen, resolved, entries, options.nowMs);
  const earlier: ShownCall[] = [];
  const tools: ToolExecution[] = [];
  for (const group of togetherStarted(entries)) {
    const calls = await loadGroup(pen, store, group, options.nowMs);
    const asked = earlier.flatMap((call) => (call.snapshot.response?.toolCalls ?? []).map((tool) => tool.id));
    const place = (call: ShownCall): number => asked.indexOf(call.snapshot.tool?.callId);
    if (calls.length > 1) calls.sort((a, b) => place(a) - place(b));
    for (const call of calls) {
      pen.line();
      renderCall(pen, call, { ...options, earlier, among: { tools } });
      if (call.snapshot.tool !== undefined) tools.push(call.snapshot.tool);
      else earlier.push(call);
      if (earlier.length > LOOK_BACK) earlier.shift();
    }
  }
  return earlier.findLast((call) => call.snapshot.kind === 'llm');
}

/** Tool runs that began at one moment belong together: they are shown in the order in which the model asked for them. */
function togetherStarted(entries: readonly StoredEntry[]): StoredEntry[][] {
  const groups: StoredEntry[][] = [];
  for (const entry of entries) {
    const group = groups.at(-1);
    const [first] = group ?? [];
    const joins =
      entry.kind === 'tool' && first?.kind === 'tool' && first.time.startUnixNano === entry.time.startUnixNano;
    if (joins) group?.push(entry);
    else groups.push([entry]);
  }
  return groups;
}

async function loadGroup(
  pen: Pen,
  store: SnapshotStore,
  group: readonly StoredEntry[],
  nowMs: number,
): Promise<ShownCall[]> {
  const calls: ShownCall[] = [];
  for (const entry of group) {
    try {
      calls.push(await loadCall(store, entry));
    } catch (error) {
      if (!(error instanceof OrangeboxError)) throw error;
      pen.line();
      renderKnownFacts(pen, entry, nowMs);
      pen.line(`  ${pen.colors.red(escapeLine(error.message))}`);
    }
  }
  return calls;
}
