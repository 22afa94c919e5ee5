/** The first record of an exchange. */
import type { Redactor } from '@orangebox/codec';
import type { ExchangeStartRecord, TraceRef } from '@orangebox/schema';
import { redactJson } from './redact-json.ts';
import type { WireExchangeStart } from './wire-events.ts';

/** What is known when a request is created, secrets replaced. */
export function exchangeStartRecord(
  exchangeId: number,
  start: WireExchangeStart,
  trace: TraceRef,
  redactor: Redactor,
): ExchangeStartRecord {
  const { context } = start;
  const url = redactor.url(start.url);
  // Names, ids and tags are the program's own words; a program may well put a key into them.
  const words = redactJson(
    {
      scope: context.scope,
      ...(context.session ? { session: context.session } : {}),
      ...(start.callSite === undefined ? {} : { callSite: start.callSite }),
    },
    redactor,
    'metadata',
  );
  const { scope = [], session, callSite } = words.value ?? {};
  const redactions = [...url.redactions, ...words.redactions];
  return {
    type: 'exchangeStart',
    exchangeId,
    kind: start.kind,
    trace,
    scope: [...scope],
    ...(session
      ? { session: { id: session.id, ...(session.userId === undefined ? {} : { userId: session.userId }) } }
      : {}),
    ...(session?.metadata ? { metadata: session.metadata } : {}),
    startUnixNano: String(start.startUnixNano),
    client: start.client,
    method: start.method,
    url: url.url,
    ...(callSite === undefined ? {} : { callSite }),
    ...(redactions.length > 0 ? { redactions } : {}),
  };
}
