/** Records of a replayable run as they may be written: credentials replaced, as everywhere else. */
import type { Redactor } from '@orangebox/codec';
import type { ChildEvent, DrawnValue, RunRecord } from '@orangebox/schema';

/** The record with known secrets replaced by tokens; the same object where nothing can hold one. */
export function redactRunRecord(record: RunRecord, redactor: Redactor): RunRecord {
  const text = (value: string): string => redactor.text(value, 'run').text;
  switch (record.type) {
    case 'runStart': {
      const { environment } = record;
      const values = Object.fromEntries(Object.entries(environment.values).map(([name, v]) => [name, text(v)]));
      return {
        ...record,
        argv: record.argv.map(text),
        execArgv: record.execArgv.map(text),
        environment: { ...environment, values },
      };
    }
    case 'draws':
      return { ...record, draws: record.draws.map((draw) => redactDraw(draw, text)) };
    case 'child': {
      return {
        ...record,
        argv: record.argv.map(text),
        stdin: redactBytes(record.stdin, redactor),
        events: redactOutput(record.events, redactor),
      };
    }
    case 'notReplayable':
      return { ...record, what: text(record.what) };
    case 'timerFired':
    case 'runEnd':
      return record;
  }
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
