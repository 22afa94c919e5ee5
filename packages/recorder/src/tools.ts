/** Tool executions: seen as a function's run, or read from the request that carries the result. */
import { appendAll, buildToolSnapshot, type Redactor, type Sha256, type ToolFacts } from '@orangebox/codec';
import {
  type Fidelity,
  type JsonObject,
  type ProcessInfo,
  type Redaction,
  type RequestView,
  type SessionRef,
  snapshotKey,
  type ToolCall,
  type ToolRecord,
} from '@orangebox/schema';
import { type AskedTool, AskedTools, type AskingCall } from './asked-tools.ts';
import { errorInfo } from './error-info.ts';
import { toolSpanFacts, type SpanContentOptions } from './otel/span-content.ts';
import { toolSpanRecord } from './otel/span-record.ts';
import { type PayloadOnSpan, withPayload } from './payload-on-span.ts';
import { programWords } from './program-words.ts';
import type { LevelPlan } from './recording-plan.ts';
import { isKept } from './sampling-policy.ts';
import { type CallSpans, type SpanHandle, spansByOf } from './spans.ts';
import type { CallContext, WrappedToolRun } from './wire-events.ts';

/** What tools work with. */
export interface ToolHost {
  process: ProcessInfo;
  sha256: Sha256;
  spans: CallSpans;
  spanContent: SpanContentOptions;
  redactor(): Redactor;
  /** There is somewhere to write to. */
  keepsFiles: boolean;
  /** Writes the record; false when it is not on the disk. */
  write(record: ToolRecord): boolean;
  /** Sampling or the level lets it go. */
  onNotKept(): void;
  /** Ends the span of a snapshot that was written under its key: at once, or when its payload is ready. */
  endStored(record: ToolRecord, span: SpanHandle, end: (payload: PayloadOnSpan) => void): void;
  /** Calls made inside this span name it as their parent. */
  isParent(spanId: string): boolean;
  /** A call that began before this time has not been looked at yet. */
  isAnyCallOpenBefore(startUnixNano: bigint): boolean;
  /** Place in a session of a run that no call asked for: that of the newest call. */
  seqOf(sessionId: string): number;
}

const MAX_WAITING_RUNS = 1000;
const MAX_TEXT_CHARS = 16 * 1024 * 1024;

/** What tools are read from. */
export interface EndedCall {
  request: RequestView;
  startUnixNano: bigint;
  session: SessionRef | undefined;
  metadata: JsonObject | undefined;
  plan: LevelPlan;
  context: CallContext;
  toolCalls: readonly ToolCall[];
  asking: AskingCall;
}

interface MadeTool {
  record: ToolRecord;
  end: (payload?: PayloadOnSpan) => void;
}

/** Under what a tool is recorded. */
interface ToolPlace {
  plan: LevelPlan;
  context: CallContext;
  /** Of the call that asked for it. */
  model: string | undefined;
}

interface WaitingRun {
  run: WrappedToolRun;
  plan: LevelPlan;
  arguments: string | undefined;
  argumentTexts: string[];
}

/** Makes tool records. */
export class ToolRecorder {
  readonly #host: ToolHost;
  readonly #asked: AskedTools = new AskedTools();
  #waiting: WaitingRun[] = [];
  /** Tool records written. */
  count = 0;

  constructor(host: ToolHost) {
    this.#host = host;
  }

  /** A function ran. It waits for the call that asked for it, when that may still be open. */
  ran(run: WrappedToolRun, plan: LevelPlan): void {
    const texts = run.args.map(jsonText);
    const all = run.args.length === 1 ? texts[0] : jsonText(run.args);
    this.#waiting.push({ run, plan, arguments: all, argumentTexts: [...texts, all].filter((t) => t !== undefined) });
    this.settleRuns();
  }

  /** Looks at the runs that wait; `force` leaves none. */
  settleRuns(force = false): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const item of waiting) {
      const { run } = item;
      const asked = this.#asked.takeForRun({
        name: run.name,
        argumentTexts: item.argumentTexts.map((text) => this.#host.redactor().text(text).text),
        traceId: run.trace.traceId,
        sessionId: run.context.session?.id,
      });
      const mayWait = !force && waiting.length <= MAX_WAITING_RUNS;
      if (!asked && mayWait && this.#host.isAnyCallOpenBefore(run.startUnixNano)) this.#waiting.push(item);
      else this.#recordRun(item, asked);
    }
  }

  /** A call ended: the results in its request, then the calls for tools in its answer. */
  callEnded(call: EndedCall): void {
    this.settleRuns();
    for (const answered of this.#asked.answer(call.request, call.session)) this.#recordAnswer(answered, call);
    this.#asked.ask(call.toolCalls, call.asking);
    this.settleRuns();
  }

  #recordAnswer(answered: ReturnType<AskedTools['answer']>[number], call: EndedCall): void {
    const { by, content, isError } = answered;
    const { id, name, arguments: args } = answered.call;
    const start = by.endUnixNano < call.startUnixNano ? by.endUnixNano : call.startUnixNano;
    const span = this.#host.spans.startTool({
      name: `execute_tool ${name}`,
      basis: 'inferred',
      startUnixNano: start,
      endUnixNano: call.startUnixNano,
      parent: by.trace,
    });
    this.#record(
      span,
      { plan: call.plan, context: call.context, model: by.model },
      {
        trace: span.trace,
        ...(by.session ? { session: by.session } : {}),
        scope: by.scope,
        time: { startUnixNano: String(start), endUnixNano: String(call.startUnixNano) },
        tool: {
          basis: 'inferred',
          name,
          ...(id === undefined ? {} : { callId: id }),
          arguments: args,
          result: content,
          ...(isError ? { error: { stage: 'done', type: 'tool_error', message: content.slice(0, 1024) } } : {}),
          askedBy: by.trace.spanId,
        },
        ...(call.metadata ? { metadata: call.metadata } : {}),
        fidelity: { level: 'exact' },
        redactions: [],
      },
    );
  }

  #recordRun({ run, plan, arguments: args }: WaitingRun, asked: AskedTool | undefined): void {
    const redactor = this.#host.redactor();
    const redactions: Redaction[] = [];
    const clean = (text: string, where: string): string => {
      const result = redactor.text(text.slice(0, MAX_TEXT_CHARS));
      appendAll(
        redactions,
        result.redactions.map((redaction) => ({ ...redaction, where })),
      );
      return result.text;
    };
    const name = clean(run.name, 'metadata');
    const error = errorInfo(run.error, 'done', redactor);
    if (error) appendAll(redactions, error.redactions);
    const result =
      run.error === undefined ? (typeof run.result === 'string' ? run.result : jsonText(run.result)) : undefined;
    // A run without a parent belongs under the call that asked for it, unless calls inside already name another trace.
    const adopted =
      asked &&
      run.trace.parentSpanId === undefined &&
      (run.trace.traceId === asked.by.trace.traceId || !this.#host.isParent(run.trace.spanId));
    const ids = adopted
      ? { traceId: asked.by.trace.traceId, spanId: run.trace.spanId, parentSpanId: asked.by.trace.spanId }
      : run.trace;
    const span = this.#host.spans.startTool({
      name: `execute_tool ${name}`,
      basis: 'wrapped',
      startUnixNano: run.startUnixNano,
      endUnixNano: run.endUnixNano,
      ids,
      context: run.context,
    });
    const { scope, session: named, metadata, redactions: inWords } = programWords(run.context, undefined, redactor);
    appendAll(redactions, inWords);
    const session: SessionRef | undefined =
      asked?.by.session ??
      (named && {
        id: named.id,
        seq: this.#host.seqOf(named.id),
        basis: 'declared',
        ...(named.userId === undefined ? {} : { userId: named.userId }),
      });
    this.#record(
      span,
      { plan, context: run.context, model: asked?.by.model },
      {
        trace: span.trace,
        ...(session ? { session } : {}),
        scope,
        time: { startUnixNano: String(run.startUnixNano), endUnixNano: String(run.endUnixNano) },
        tool: {
          basis: 'wrapped',
          name,
          ...(asked?.call.id === undefined ? {} : { callId: asked.call.id }),
          ...(args === undefined ? {} : { arguments: clean(args, 'request.body') }),
          ...(result === undefined ? {} : { result: clean(result, 'response.body') }),
          ...(error ? { error: error.info } : {}),
          ...(asked ? { askedBy: asked.by.trace.spanId } : {}),
        },
        ...(metadata ? { metadata } : {}),
        ...(error ? { error: error.info } : {}),
        fidelity: { level: 'exact' },
        redactions,
      },
    );
  }

  #record(span: SpanHandle, place: ToolPlace, facts: ToolFacts): void {
    const { keepsFiles, process, sha256, spans, spanContent } = this.#host;
    const keepsContent = place.plan.keepsBodies;
    const promisesKeys = keepsContent && keepsFiles;
    const kept = keepsContent ? facts : withoutContent(facts);
    const make = (fidelity: Fidelity, withKey: boolean): MadeTool => {
      const snapshot = buildToolSnapshot({ ...kept, fidelity }, process, sha256);
      const sizeBytes = Buffer.byteLength(JSON.stringify(snapshot));
      const key = withKey ? snapshotKey(snapshot) : undefined;
      const content = { snapshot, sizeBytes, ...(key === undefined ? {} : { key }) };
      const spanFacts = toolSpanFacts(content, spanContent);
      const spanRecords = [toolSpanRecord(spanFacts, facts.trace)];
      const record: ToolRecord = {
        type: 'tool',
        ...kept,
        fidelity,
        digest: snapshot.digest,
        ...(key === undefined ? {} : { key }),
        sizeBytes,
        spans: spanRecords,
        ...spansByOf(spans, span),
      };
      // What may stand on a span is for the span's own setting to say.
      const whole = keepsContent ? snapshot : buildToolSnapshot({ ...facts, fidelity }, process, sha256);
      const ownFacts = keepsContent ? spanFacts : toolSpanFacts({ ...content, snapshot: whole }, spanContent);
      return { record, end: (payload = {}) => spans.endTool(span, withPayload(ownFacts, payload)) };
    };
    if (keepsFiles && !isToolKept(place, facts)) {
      this.#host.onNotKept();
      make({ level: 'partial', reason: 'not_sampled' }, false).end();
      return;
    }
    const notStored: Fidelity = { level: 'partial', reason: 'no_storage' };
    const made = make(promisesKeys ? facts.fidelity : notStored, promisesKeys);
    this.count++;
    const isWritten = this.#host.write(made.record);
    if (isWritten && promisesKeys) this.#host.endStored(made.record, span, made.end);
    else if (!promisesKeys) made.end();
    else make(notStored, false).end();
  }
}

/** By the same rules as its trace's calls. */
function isToolKept({ plan, context, model }: ToolPlace, { trace, time, tool, error }: ToolFacts): boolean {
  return isKept(plan.sample, {
    traceId: trace.traceId,
    route: context.inbound?.route,
    metadata: context.session?.metadata,
    model,
    isError: error !== undefined || tool.error !== undefined,
    durationMs: Number(BigInt(time.endUnixNano) - BigInt(time.startUnixNano)) / 1e6,
  });
}

/** Without what was said to and by the tool. The message of a thrown error stays, as it does of a call. */
function withoutContent(facts: ToolFacts): ToolFacts {
  const { arguments: _arguments, result: _result, error, ...tool } = facts.tool;
  const told = error === undefined || tool.basis === 'wrapped' ? error : { ...error, message: '' };
  return { ...facts, tool: { ...tool, ...(told === undefined ? {} : { error: told }) } };
}

/** JSON text of anything; undefined for what JSON has no form for. */
function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v));
  } catch {
    // Circular or hostile: its text is better than nothing.
    try {
      return JSON.stringify(String(value));
    } catch {
      return undefined;
    }
  }
}
