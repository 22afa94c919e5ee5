/** What a person can do about a call that went wrong. */
import type { Ending } from '@orangebox/schema';

/** One sentence for a failed call; undefined where nothing went wrong. */
export function adviceFor(ending: Ending, status: number | undefined, code: string | undefined): string | undefined {
  const byEnding = ENDING_ADVICE[ending];
  if (byEnding !== undefined) return byEnding;
  if (status === undefined || status < 400) return undefined;
  if (code === 'insufficient_quota')
    return 'the account has no quota left; waiting will not help, its billing page will';
  if (code === 'context_length_exceeded')
    return 'the conversation is too long for the model: shorten it or take a model with a larger window';
  return STATUS_ADVICE[status] ?? (status >= 500 ? STATUS_ADVICE[500] : STATUS_ADVICE[400]);
}

const ENDING_ADVICE: { readonly [ending in Ending]?: string } = {
  connect_failed: 'no connection came about: check the base URL, DNS, proxy and TLS settings of the program',
  reset: 'the connection was closed before an answer came; a retry is safe only if the request has no effects',
  cut: 'the answer broke off: what came is above, the rest is not on record because it never arrived',
  timeout: 'the client gave up waiting: raise its timeout, or stream the answer so that the first chunk comes sooner',
  caller_abort: 'the program aborted the request itself (AbortSignal)',
  caller_stopped_reading: 'the program stopped reading the answer (break, cancel, or never read)',
  process_exit: 'the program ended while the answer was on its way',
  process_died: 'the process died in this call; what it had sent and received until then is above',
};

const STATUS_ADVICE: { readonly [status: number]: string } = {
  400: 'the provider refused the request: its message says why, --http shows what was sent',
  401: 'the key was not accepted: check the API key that the program was started with',
  403: 'the key may not do this: check the model, project and region it is allowed to use',
  404: 'not found: check the base URL, the path and the model name',
  408: 'the provider timed out, worth another try',
  409: 'a conflict with another request, worth another try',
  413: 'the request is too large for the provider',
  422: 'the provider could not use the request: its message names the field',
  429: 'too many requests or tokens: slow down, or honour the Retry-After header (--http shows it)',
  500: 'a fault at the provider, worth another try',
};
