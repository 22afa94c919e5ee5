/** Content decoding with the bound that the drills set for it. */
import { decodeContent } from '@orangebox/store';

/** Bytes that a body of the drills may unpack to. */
export const UNPACKED_MAX_BYTES = 2 * 2 ** 20;

/** As readers decode, with a small bound. */
export const decodeBounded = (encoding, bytes) => decodeContent(encoding, bytes, UNPACKED_MAX_BYTES);
