/** What came to the recorded program, in order, and what the program did between. */
import type { ExchangeRecords } from '@orangebox/codec';
import type {
  DoneWork,
  RunEndRecord,
  ChildEvent,
  ChildRecord,
  ChunkRecord,
  InputPiece,
  ThreadEventRecord,
  TimerFiredRecord,
  ToolRunRecord,
} from '@orangebox/schema';
import type { RecordedRun } from './recorded-run.ts';
import { isServed } from './served-tools.ts';

interface InOrder {
  seq: number;
  startsTurn: boolean;
  /** It came when the client was paused. */
  cameUnasked: boolean;
}

/** What came of an answer. */
export type AnswerEvent = InOrder &
  (
    | { kind: 'head'; exchange: ExchangeRecords }
    | { kind: 'chunk'; exchange: ExchangeRecords; chunk: ChunkRecord }
    | { kind: 'end'; exchange: ExchangeRecords }
  );

/** Something that came to the program. */
export type RunEvent =
  | AnswerEvent
  | (InOrder &
      (
        | { kind: 'timer'; timer: TimerFiredRecord }
        | { kind: 'child'; child: ChildRecord; event: ChildEvent }
        | { kind: 'thread'; event: ThreadEventRecord }
        | { kind: 'tool'; tool: ToolRunRecord }
        | { kind: 'work'; work: DoneWork }
        | { kind: 'signal'; end: RunEndRecord }
        | { kind: 'input'; piece: InputPiece }
      ));

/** Something that the program did. */
export type RunAct = { seq: number } & (
  | { kind: 'request'; exchange: ExchangeRecords }
  | { kind: 'cancel'; exchange: ExchangeRecords }
  | { kind: 'spawn'; child: ChildRecord }
  | { kind: 'tool'; tool: ToolRunRecord }
);

/** Both, each in order. */
export interface RunOrder {
  events: RunEvent[];
  acts: RunAct[];
}

/** Whether the program itself ended an exchange. */
export function wasCancelled({ end }: ExchangeRecords): boolean {
  if (!end) return false;
  if (end.ending === 'caller_abort' || end.ending === 'caller_stopped_reading') return true;
  // The timer of a library is one of the program's; those of the client are not.
  return end.ending === 'timeout' && end.error?.code?.startsWith('UND_ERR') !== true;
}

/** Whether no connection came about. */
export function neverConnected({ end }: ExchangeRecords): boolean {
  return end?.ending === 'connect_failed';
}

/** Whether it was begun, and given up or refused before it went out whole. */
export function neverSent({ requestEnd, end }: ExchangeRecords): boolean {
  return requestEnd === undefined && end !== undefined;
}

/** Sorts a recorded thread into its order. */
export function orderOf(run: RecordedRun): RunOrder {
  const events: Omit<RunEvent, 'startsTurn' | 'cameUnasked'>[] = [];
  const acts: RunAct[] = [];
  for (const exchange of run.exchanges) {
    const { start, responseHead, responseChunks, end } = exchange;
    // Done when it is whole; what never was, when it is begun.
    acts.push({ seq: exchange.requestEnd?.seq ?? start.seq ?? 0, kind: 'request', exchange });
    if (responseHead) events.push({ seq: responseHead.delivery, kind: 'head', exchange } as RunEvent);
    for (const chunk of responseChunks) {
      events.push({ seq: chunk.delivery, kind: 'chunk', exchange, chunk } as RunEvent);
    }
    if (end?.delivery === undefined || end.ending === 'process_exit') continue;
    if (wasCancelled(exchange)) acts.push({ seq: end.delivery, kind: 'cancel', exchange });
    else events.push({ seq: end.delivery, kind: 'end', exchange } as RunEvent);
  }
  for (const timer of run.timers) events.push({ seq: timer.seq, kind: 'timer', timer } as RunEvent);
  for (const child of run.children) {
    acts.push({ seq: child.seq, kind: 'spawn', child });
    // What a child gave that the program waited for in one call, that call gives.
    if (child.sync) continue;
    for (const event of child.events) events.push({ seq: event.seq, kind: 'child', child, event } as RunEvent);
  }
  for (const event of run.threadEvents) events.push({ seq: event.seq, kind: 'thread', event } as RunEvent);
  const { end } = run;
  if (end?.signal !== undefined) events.push({ seq: end.seq, kind: 'signal', end } as RunEvent);
  for (const work of run.work) events.push({ seq: work.seq, kind: 'work', work } as RunEvent);
  for (const tool of run.toolRuns) {
    if (!isServed(tool)) continue;
    acts.push({ seq: tool.seq, kind: 'tool', tool });
    if (tool.isAsync) events.push({ seq: tool.endSeq, kind: 'tool', tool } as RunEvent);
  }
  const used = new Set<number>(run.draws.map(({ seq }) => seq));
  for (const piece of run.input) {
    // What a function waited for, it gives itself.
    if (piece.by === undefined) events.push({ seq: piece.seq, kind: 'input', piece } as RunEvent);
    else used.add(piece.seq);
  }
  for (const { seq } of [...events, ...acts]) used.add(seq);
  for (const { start, requestEnd } of run.exchanges) for (const seq of [start.seq, requestEnd?.seq]) used.add(seq ?? 0);
  for (const { seq, endSeq } of run.toolRuns) used.add(seq).add(endSeq);
  if (run.end) used.add(run.end.seq);
  const ordered = events
    .sort((a, b) => a.seq - b.seq)
    .map((event, i, all) => {
      const { seq } = event;
      // The recorder leaves a number out where a turn begins, and two where nobody had asked for what came.
      const startsTurn = i === 0 || (all[i - 1]?.seq !== seq && !used.has(seq - 1));
      return { ...event, startsTurn, cameUnasked: !used.has(seq - 1) && !used.has(seq - 2) } as RunEvent;
    });
  return { events: ordered, acts: acts.sort((a, b) => a.seq - b.seq) };
}

/** What the program did, in words. */
export function wordsOf(act: RunAct): string {
  if (act.kind === 'tool') return `the tool ${act.tool.name}`;
  if (act.kind === 'spawn') return `the child process ${act.child.file}`;
  const { method, url } = act.exchange.start;
  return `${method} ${url}`;
}

/** Events before a place, by halving. */
export function countBefore(events: readonly { seq: number }[], seq: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.seq ?? 0) < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
