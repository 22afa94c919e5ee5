/** The first record of an exchange. */
import type { Redactor } from '@orangebox/codec';
import type { ExchangeStartRecord, TraceRef } from '@orangebox/schema';
import { programWords } from './program-words.ts';
import type { WireExchangeStart } from './wire-events.ts';

/** What is known when a request is created, secrets replaced. */
export function exchangeStartRecord(
  exchangeId: number,
  start: WireExchangeStart,
  trace: TraceRef,
  redactor: Redactor,
): ExchangeStartRecord {
  const url = redactor.url(start.url);
  const {
    scope,
    session,
    metadata,
    callSite,
    redactions: inWords,
  } = programWords(start.context, start.callSite, redactor);
  const redactions = [...url.redactions, ...inWords];
  return {
    type: 'exchangeStart',
    exchangeId,
    kind: start.kind,
    trace,
    scope,
    ...(session ? { session } : {}),
    ...(metadata ? { metadata } : {}),
    startUnixNano: String(start.startUnixNano),
    client: start.client,
    method: start.method,
    url: url.url,
    ...(callSite === undefined ? {} : { callSite }),
    ...(redactions.length > 0 ? { redactions } : {}),
    ...(start.seq === undefined ? {} : { seq: start.seq }),
  };
}
