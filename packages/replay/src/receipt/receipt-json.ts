/** A receipt as JSON for programs. */
import type { Receipt } from './types.ts';

/** Value of `schema` in receipts of this version. */
export const RECEIPT_SCHEMA = 'orangebox.replay-receipt/1';

/** The receipt as JSON text, one line. */
export function receiptJson(receipt: Receipt): string {
  return `${JSON.stringify({ schema: RECEIPT_SCHEMA, ...receipt })}\n`;
}
