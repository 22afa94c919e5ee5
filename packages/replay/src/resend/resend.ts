/** The byte-identical request, live. */
import { OrangeboxError } from '@orangebox/schema';
import { findCall } from '../lookup.ts';
import { unrecorded } from '../unrecorded.ts';
import type { Reference, ResendOptions, ResendResult, ResentCall } from '../types.ts';
import { planRequest } from './request-plan.ts';
import { sendOnce } from './send.ts';

const TIMEOUT_MS = 10 * 60_000;

/**
 * Sends the recorded request again, `n` times, one after another. The body is the recorded bytes; trace, baggage and
 * idempotency headers are renewed or left out; the credential comes from the environment and goes only to its
 * provider's own hosts or to an explicit base URL.
 *
 * @throws OrangeboxError `OBX_REF_*`, `OBX_SNAPSHOT_*`, `OBX_RESEND_*`. Failures on the wire are part of the result.
 */
export async function resend(reference: Reference, options: ResendOptions = {}): Promise<ResendResult> {
  const { snapshot: original } = await findCall(reference, options);
  const planned = planRequest(original, options);
  if (options.confirm && !(await options.confirm(planned.plan))) {
    throw new OrangeboxError('OBX_RESEND_DECLINED', 'nothing was sent', { hint: 'agree, or pass --yes' });
  }
  const calls: ResentCall[] = [];
  for (let i = 0; i < planned.plan.n && !options.signal?.aborted; i += 1) {
    const snapshot = await unrecorded(() =>
      sendOnce(planned, {
        original,
        timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
        ...(options.signal ? { signal: options.signal } : {}),
      }),
    );
    const call = { snapshot };
    calls.push(call);
    options.onResult?.(call, i);
  }
  return { plan: planned.plan, original, calls };
}
