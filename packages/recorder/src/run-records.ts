/** Records of a replayable run as they may be written: credentials replaced, as everywhere else. */
import type { Redactor } from '@orangebox/codec';
import type {
  ChildEvent,
  DrawnValue,
  FileState,
  OutputDigest,
  InputPiece,
  RunRecord,
  ToolRunRecord,
} from '@orangebox/schema';

/** The record with known secrets replaced by tokens; the same object where nothing can hold one. */
export function redactRunRecord(record: RunRecord, redactor: Redactor): RunRecord {
  const text = (value: string): string => redactor.text(value, 'run').text;
  switch (record.type) {
    case 'runStart': {
      const { environment, parentRunId } = record;
      const values = Object.fromEntries(Object.entries(environment.values).map(([name, v]) => [name, text(v)]));
      return {
        ...record,
        runId: text(record.runId),
        ...(parentRunId === undefined ? {} : { parentRunId: text(parentRunId) }),
        argv: redactor.words(record.argv, 'program'),
        execArgv: redactor.words(record.execArgv, 'program'),
        execPath: text(record.execPath),
        hostname: text(record.hostname),
        ...(record.cwd === undefined ? {} : { cwd: text(record.cwd) }),
        environment: { ...environment, values },
      };
    }
    case 'draws':
      return { ...record, draws: redactDraws(record.draws, text) };
    case 'child': {
      return {
        ...record,
        file: text(record.file),
        argv: redactor.words(record.argv, 'child'),
        cwd: text(record.cwd),
        stdin: redactBytes(record.stdin, redactor),
        events: redactOutput(record.events, redactor).map((event) => redactError(event, text)),
      };
    }
    case 'notReplayable':
      return { ...record, what: text(record.what) };
    case 'timerFired':
      return record.at === undefined ? record : { ...record, at: text(record.at) };
    case 'runEnd': {
      const { stdout, stderr } = record;
      return { ...record, stdout: redactHead(stdout, redactor), stderr: redactHead(stderr, redactor) };
    }
    case 'threadEvent':
    case 'workDone':
      return record;
    case 'toolRun':
      return redactToolRun(record, redactor, text);
    case 'input':
      return { ...record, pieces: redactInput(record.pieces, redactor, text) };
    case 'runFiles':
      return { ...record, files: record.files.map((file) => redactFile(file, text)) };
    case 'filesChanged': {
      const changes = record.changes.map((change) => ({ ...change, file: redactFile(change.file, text) }));
      return { ...record, changes };
    }
  }
}

function redactHead(output: OutputDigest, redactor: Redactor): OutputDigest {
  return output.head === undefined ? output : { ...output, head: redactBytes(output.head, redactor) };
}

function redactToolRun(record: ToolRunRecord, redactor: Redactor, text: (value: string) => string): ToolRunRecord {
  const { args, value, error, notReplayable } = record;
  const json = (given: string): string =>
    Buffer.from(redactBytes(Buffer.from(given).toString('base64'), redactor), 'base64').toString();
  return {
    ...record,
    name: text(record.name),
    ...(args === undefined ? {} : { args: json(args) }),
    ...(value === undefined ? {} : { value: json(value) }),
    ...(error && {
      error: {
        name: text(error.name),
        message: text(error.message),
        ...(error.members === undefined ? {} : { members: json(error.members) }),
        ...(error.hidden === undefined ? {} : { hidden: json(error.hidden) }),
      },
    }),
    ...(notReplayable && { notReplayable: notReplayable.map(({ what, count }) => ({ what: text(what), count })) }),
  };
}

/** A secret may lie across two pieces; its token stands in the one where it began. */
function redactInput(pieces: readonly InputPiece[], redactor: Redactor, text: (value: string) => string): InputPiece[] {
  const body = redactor.body('run');
  const clean = pieces.flatMap(({ bytes }) => body.push(Buffer.from(bytes, 'base64')));
  clean.push(...body.end());
  return pieces.map((piece, i) => ({
    ...piece,
    bytes: Buffer.from(clean[i] ?? []).toString('base64'),
    ...(piece.errorCode === undefined ? {} : { errorCode: text(piece.errorCode) }),
  }));
}

function redactFile(file: FileState, text: (value: string) => string): FileState {
  const { path, target } = file;
  return { ...file, path: text(path), ...(target === undefined ? {} : { target: text(target) }) };
}

function redactError(event: ChildEvent, text: (value: string) => string): ChildEvent {
  const { error, signal } = event;
  const clean = typeof signal === 'string' ? { ...event, signal: text(signal) } : event;
  if (!error) return clean;
  const { code, message, syscall } = error;
  return {
    ...clean,
    error: { code: text(code), message: text(message), ...(syscall === undefined ? {} : { syscall: text(syscall) }) },
  };
}

function redactDraws(draws: readonly DrawnValue[], text: (value: string) => string): DrawnValue[] {
  // The places of a batch are few, and searched once each.
  const places = new Map<string, string>();
  return draws.map((draw) => {
    const { at } = draw;
    if (at === undefined) return redactDraw(draw, text);
    let place = places.get(at);
    if (place === undefined) places.set(at, (place = text(at)));
    return { ...redactDraw(draw, text), at: place };
  });
}

function redactDraw(draw: DrawnValue, text: (value: string) => string): DrawnValue {
  // What the platform drew at random is no secret of the environment; names of hosts and the like are text as any other.
  if (typeof draw.value !== 'string' || draw.source.startsWith('crypto.')) return draw;
  return { ...draw, value: text(draw.value) };
}

function redactBytes(base64: string, redactor: Redactor): string {
  if (base64 === '') return base64;
  const bytes = Buffer.from(base64, 'base64');
  const body = redactor.body('run');
  return Buffer.concat([...body.push(bytes), ...body.end()]).toString('base64');
}

/** A secret may lie across two pieces: each stream is searched as one, and keeps the order of its pieces. */
function redactOutput(events: readonly ChildEvent[], redactor: Redactor): ChildEvent[] {
  const out = events.map((event) => ({ ...event }));
  for (const kind of ['stdout', 'stderr'] as const) {
    const pieces = out.filter((event) => event.kind === kind);
    const whole = Buffer.concat(pieces.map((piece) => Buffer.from(piece.bytes ?? '', 'base64')));
    const clean = Buffer.from(redactBytes(whole.toString('base64'), redactor), 'base64');
    if (clean.equals(whole)) continue;
    // Where something was replaced, the pieces have other sizes: the first one has it all.
    pieces.forEach((piece, i) => {
      piece.bytes = i === 0 ? clean.toString('base64') : '';
    });
  }
  return out;
}
