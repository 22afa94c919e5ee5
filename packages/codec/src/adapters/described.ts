/** What an adapter makes of an exchange. */
import type { CallView, RequestView, ResponseView } from '@orangebox/schema';

/** The three derived views of a call. */
export interface Described {
  call: CallView;
  request: RequestView;
  response: ResponseView;
}
