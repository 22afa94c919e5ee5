/** The hash that digests are made with. It is injected, so that this package runs in browsers and in Node alike. */

/** SHA-256 of bytes, or of a string's UTF-8 bytes, as 64 lower-case hex digits. */
export type Sha256 = (data: Uint8Array | string) => string;
