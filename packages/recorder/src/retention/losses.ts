/** Counts of what bounds took. */
import type { KnownCall } from './calls.ts';

/** Calls that went for one reason. */
export interface Loss {
  /** Calls and tool executions that no endpoint had acknowledged. */
  unsent: number;
  /** Those that one had. */
  sent: number;
  unsentBytes: number;
  sentBytes: number;
}

/** By bound. */
export type SweepLosses = Record<'dir_bytes' | 'dir_age', Loss>;

/** Nothing yet. */
export function noLosses(): SweepLosses {
  const none = (): Loss => ({ unsent: 0, sent: 0, unsentBytes: 0, sentBytes: 0 });
  return { dir_bytes: none(), dir_age: none() };
}

/** Counts a call that went. */
export function addLoss(losses: SweepLosses, call: KnownCall): void {
  if (call.goes === undefined || call.goes === 'passed_over') return;
  const loss = losses[call.goes];
  if (call.isShipped) {
    loss.sent++;
    loss.sentBytes += call.sizeBytes;
  } else {
    loss.unsent++;
    loss.unsentBytes += call.sizeBytes;
  }
}

/** Adds others. */
export function addLosses(losses: SweepLosses, more: SweepLosses): void {
  for (const reason of ['dir_bytes', 'dir_age'] as const) {
    for (const name of ['unsent', 'sent', 'unsentBytes', 'sentBytes'] as const)
      losses[reason][name] += more[reason][name];
  }
}
