/** Which errors say that a place could not be asked, so that another may answer instead. */
import { OrangeboxError } from '@orangebox/schema';

/** An error of a place itself, not of what was looked for in it. */
export function isPlaceFault(error: unknown): error is OrangeboxError {
  return error instanceof OrangeboxError && /^OBX_(?:SOURCE|STORE)_/.test(error.code);
}

/** The place did not answer: asking again at once would only take as long again. */
export function isUnreachable(error: unknown): error is OrangeboxError {
  return error instanceof OrangeboxError && /^OBX_(?:SOURCE|STORE)_(?:UNREACHABLE|DENIED)$/.test(error.code);
}
