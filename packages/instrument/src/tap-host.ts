/** What the wire taps need of the runtime around them. */
import type { CallContext } from '@orangebox/recorder';
import type { ExchangeHost } from './exchange-tap.ts';

/** `llm` and `http` are recorded; `maybe` is decided by the first body bytes. */
export type Verdict = 'llm' | 'http' | 'maybe' | 'no';

/** Runtime side of a tap. No method throws. */
export interface TapHost extends ExchangeHost {
  /** Orangebox's own requests and those within `suppress()`. */
  suppressed(): boolean;
  /** Decides from the head of a request. */
  recognise(method: string, url: string, contentType?: string, userAgent?: string): Verdict;
  /** The causal place of the code that runs now. */
  context(): CallContext;
  warn(message: string): void;
}
