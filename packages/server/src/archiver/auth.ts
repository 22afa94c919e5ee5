/** Who may send: a bearer token, or a client certificate that TLS has verified already. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Whether a request shows one of the tokens. */
export type TokenCheck = (request: IncomingMessage) => boolean;

/** Makes the check. Several tokens count at once, so that they can be renewed one side after the other. */
export function createTokenCheck(tokens: readonly string[]): TokenCheck {
  const expected = tokens.map(hash);
  return (request) => {
    const given = /^bearer +([^\s]+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (given === undefined) return false;
    const hashed = hash(given);
    // All are compared, and hashes of one length: neither time nor length tells anything.
    return expected.reduce((found, one) => timingSafeEqual(one, hashed) || found, false);
  };
}

function hash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Whether a host is this machine's own loopback, as it may be written to listen on. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
