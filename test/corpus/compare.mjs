/** Compares snapshots with what a server received and sent: bytes, header lists, status. Credentials may be tokens. */

const tokenPattern = /\{\{secret:[^{}]+\}\}/g;

/**
 * `exact` when equal; `masked` when equal but for secrets that tokens stand for; else `different`.
 * A token stands for at least one character.
 */
export function compareText(recorded, actual) {
  if (recorded === actual) return 'exact';
  const parts = recorded.split(tokenPattern);
  if (parts.length === 1) return 'different';
  let at = 0;
  for (const [i, part] of parts.entries()) {
    if (i === parts.length - 1) {
      return actual.endsWith(part) && actual.length - part.length >= at ? 'masked' : 'different';
    }
    if (i === 0) {
      if (!actual.startsWith(part)) return 'different';
      at = part.length + 1;
    } else {
      const found = actual.indexOf(part, at);
      if (found === -1) return 'different';
      at = found + part.length + 1;
    }
  }
  return 'different';
}

const worst = (results) => ['different', 'masked', 'exact'].find((result) => results.includes(result)) ?? 'exact';

/** Compares header lists: order, names as written, duplicates, values. */
export function compareHeaders(recorded, actual) {
  if (recorded.length !== actual.length) return 'different';
  return worst(
    recorded.map(([name, value], i) => (name === actual[i][0] ? compareText(value, actual[i][1]) : 'different')),
  );
}

/** Compares bytes; masked bytes are compared as Latin-1, which keeps every byte. */
export function compareBytes(recorded, actual) {
  const a = Buffer.from(recorded.buffer, recorded.byteOffset, recorded.byteLength);
  if (a.equals(actual)) return 'exact';
  return compareText(a.toString('latin1'), actual.toString('latin1'));
}

/** The aspects of an exchange that are compared, in the order of the table. */
export const aspects = [
  'request line',
  'request headers',
  'request bytes',
  'status',
  'response headers',
  'response bytes',
];

/**
 * Compares one recorded exchange with the server's entry for it.
 * @param decodeBody from `@orangebox/codec`
 * @param decodedBody the answer's body before compression, for bodies that are stored decoded
 */
export function compareExchange(exchange, entry, decodeBody, decodedBody) {
  const { request, response } = exchange;
  const { received, sent } = entry;
  const path = request.url.replace(/^https?:\/\/[^/]+/, '');
  const lineEqual = request.method === received.method && (path === received.path || `/${path}` === received.path);
  const result = {
    'request line': lineEqual ? 'exact' : compareText(path, received.path),
    'request headers': compareHeaders(request.headers, received.headers),
    'request bytes': compareBytes(decodeBody(request.body), received.body),
    status: 'different',
    'response headers': 'different',
    'response bytes': 'different',
  };
  if (response !== undefined) {
    result.status = response.status === sent.status ? 'exact' : 'different';
    result['response headers'] = compareHeaders(response.headers, sent.headers);
    const body = decodeBody(response.body);
    // Stored decoded means that a secret was replaced in it; equal to the whole it would be a mistake, too, but a harmless one.
    result['response bytes'] =
      response.storedDecoded === undefined
        ? compareBytes(body, sent.body)
        : worst(['masked', compareBytes(body, decodedBody)]);
  }
  return result;
}
