/** What is said where the program is quiescent, and what came next on record cannot be given. */
import type { DivergenceContext } from '../divergence/types.ts';
import { scopeOf } from './asked-exchange.ts';
import { type RunAct, type RunEvent, wordsOf } from './run-events.ts';

type Said = Omit<DivergenceContext, 'step'>;

/** Where a recorded act was done. */
export function scopeOfAct(act: RunAct): string[] {
  return 'exchange' in act ? scopeOf(act.exchange.start.scope) : [];
}

/** Of an act that was not done. `waitsFor`: words on what the program may be waiting for instead. */
export function missingAct(act: RunAct, waitsFor: string): Said {
  const isCancel = act.kind === 'cancel';
  return {
    kind: isCancel ? 'changed_cancel' : 'missing',
    event: act.seq,
    scope: scopeOfAct(act),
    detail: isCancel
      ? `the recorded program gave up on ${wordsOf(act)} here; this one waits`
      : `the program waits, and has not made ${wordsOf(act)}${waitsFor}`,
  };
}

/** Of an event that nobody waits for. */
export function missingEvent(event: RunEvent): Said {
  const { seq } = event;
  switch (event.kind) {
    case 'timer': {
      const { kind, delayMs, timerId, at } = event.timer;
      const place = at === undefined ? '' : `, ${at}`;
      const detail = `no ${kind} waits where timer ${timerId} (${delayMs} ms${place}) fired when it was recorded`;
      return { kind: 'tick_drift', event: seq, scope: [], detail };
    }
    case 'thread': {
      const { kind, worker } = event.event;
      const what = kind === 'message' ? 'no message came' : `nothing was heard of its "${kind}"`;
      const detail = `${what} from ${worker === undefined ? 'the thread that made this one' : `worker ${worker}`}`;
      return { kind: 'environment', event: seq, scope: [], detail };
    }
    case 'input': {
      const detail = 'the program does not read standard input, of which more came here when it was recorded';
      return { kind: 'missing', event: seq, scope: [], detail };
    }
    default:
      return {
        kind: event.kind === 'child' ? 'environment' : 'changed_cancel',
        event: seq,
        scope: 'exchange' in event ? scopeOf(event.exchange.start.scope) : [],
        detail: 'the program is not where it can be given what came next',
      };
  }
}
