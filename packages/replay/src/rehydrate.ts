/** A recorded call as objects: nothing of the recording program is needed. */
import { withViews } from '@orangebox/codec';
import { type Exchange, OrangeboxError, type Snapshot } from '@orangebox/schema';
import { decodeContent, joinLater } from '@orangebox/store';
import { findCall } from './lookup.ts';
import { toRequest, toResponse } from './recorded-message.ts';
import type { LookupOptions, Reference, Rehydrated } from './types.ts';

/**
 * The call of a reference with typed views and real objects.
 *
 * @throws OrangeboxError `OBX_REF_*`, `OBX_SNAPSHOT_*`, `OBX_STORE_*`.
 */
export async function rehydrate(reference: Reference, options: LookupOptions = {}): Promise<Rehydrated> {
  const { snapshot: stored, store } = await findCall(reference, options);
  const later = store ? await joinLater(stored, store) : { toolExecutions: [], nextMessages: [] };
  const snapshot: Snapshot = { ...withViews(stored, decodeContent), ...later };
  return {
    snapshot,
    request: (attempt) => toRequest(exchangeOf(snapshot, attempt).request),
    response: (attempt) => toResponse(exchangeOf(snapshot, attempt)),
    messages: snapshot.request?.messages ?? [],
    toolCalls: snapshot.response?.toolCalls ?? [],
    toolExecutions: later.toolExecutions,
    nextMessages: later.nextMessages,
  };
}

function exchangeOf(snapshot: Snapshot, attempt: number | undefined): Exchange {
  const exchange = snapshot.exchanges.at(attempt ?? -1);
  if (exchange) return exchange;
  throw new OrangeboxError('OBX_REPLAY_NO_EXCHANGE', `the ${snapshot.kind} snapshot has no exchange ${attempt ?? ''}`, {
    hint: `it has ${snapshot.exchanges.length}; tool snapshots have none`,
  });
}
