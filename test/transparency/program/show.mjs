/** Turns what a program can see of a value into plain JSON, so that two runs can be compared. Places in files are left out. */
import { createHash } from 'node:crypto';

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Ports that the system hands out, sizes of what was read by then: they differ between two runs of one program. */
const passing = new Set(['localPort', 'remotePort', 'port', 'bytesRead', 'bytesWritten']);

const keyName = (key) => (typeof key === 'symbol' ? String(key) : key);

const className = (value) => Object.getPrototypeOf(value)?.constructor?.name ?? null;

/** Every own property but `without`, functions by name. */
function ownOf(value, seen, without = []) {
  const own = {};
  for (const key of Reflect.ownKeys(value)) {
    if (without.includes(key)) continue;
    if (passing.has(key)) own[key] = 'passing';
    else own[keyName(key)] = show(value[key], seen);
  }
  return own;
}

function showError(error, seen) {
  return {
    error: error.name,
    class: className(error),
    message: error.message,
    text: String(error),
    code: error.code ?? null,
    tag: Object.prototype.toString.call(error),
    instance: error instanceof Error,
    stackHead: String(error.stack).split('\n', 1)[0],
    own: ownOf(error, seen, ['stack', 'message', 'cause']),
    ...('cause' in error ? { cause: show(error.cause, seen) } : {}),
  };
}

function showResponse(response, seen) {
  const { status, statusText, ok, redirected, type, url, bodyUsed } = response;
  return {
    class: className(response),
    platform: response instanceof globalThis.Response,
    tag: Object.prototype.toString.call(response),
    ...{ status, statusText, ok, redirected, type, url, bodyUsed },
    body: response.body === null ? null : className(response.body),
    locked: response.body?.locked ?? null,
    headers: show(response.headers, seen),
    own: Reflect.ownKeys(response).map(keyName),
  };
}

function showIncoming(message) {
  const { statusCode, statusMessage, httpVersion, rawHeaders, rawTrailers, complete, aborted, destroyed } = message;
  return {
    class: className(message),
    ...{ statusCode, statusMessage, httpVersion, rawHeaders, rawTrailers, complete, aborted, destroyed },
    headers: { ...message.headers },
    enumerable: Object.keys(message),
    events: message.eventNames().map((name) => `${String(name)}:${message.listenerCount(name)}`),
  };
}

const showBytes = (value) => {
  const bytes = Buffer.from(value.buffer ?? value, value.byteOffset ?? 0, value.byteLength);
  return {
    class: className(value),
    sizeBytes: bytes.length,
    sha256: sha256(bytes),
    ...(bytes.length <= 200 ? { base64: bytes.toString('base64') } : {}),
  };
};

/** A value as JSON; `seen` holds the objects on the way here. */
export function show(value, seen = []) {
  switch (typeof value) {
    case 'string':
      return value.length > 4_000 ? { text: value.slice(0, 200), length: value.length, sha256: sha256(value) } : value;
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
      return value;
    case 'undefined':
      return { undefined: true };
    case 'bigint':
      return { bigint: String(value) };
    case 'symbol':
      return { symbol: String(value) };
    case 'function':
      return { function: value.name, length: value.length, class: className(value) };
    default:
  }
  if (value === null) return null;
  if (seen.includes(value)) return { again: seen.length - seen.indexOf(value) };
  if (seen.length > 7) return { class: className(value) };
  const below = [...seen, value];
  if (value instanceof Error || Object.prototype.toString.call(value) === '[object DOMException]')
    return showError(value, below);
  const name = className(value);
  if (name === 'Response') return showResponse(value, below);
  if (name === 'Headers') return { class: name, headers: [...value] };
  if (name === 'IncomingMessage') return showIncoming(value);
  if (name === 'AbortSignal') return { class: name, aborted: value.aborted, reason: show(value.reason, below) };
  if (name === 'Socket' || name === 'TLSSocket') return { class: name };
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return showBytes(value);
  if (value instanceof Promise)
    return { class: name, own: Reflect.ownKeys(value).map(keyName), chain: prototypeNames(value) };
  if (value instanceof Map) return { class: name, entries: [...value].map((entry) => show(entry, below)) };
  if (value instanceof Set) return { class: name, entries: [...value].map((entry) => show(entry, below)) };
  if (value instanceof Date) return { class: name, iso: value.toISOString() };
  if (Array.isArray(value) && name === 'Array') return value.map((item) => show(item, below));
  const own = ownOf(value, below);
  return name === 'Object' ? own : { class: name, own };
}

/** Names of the classes of a value, its own first. */
function prototypeNames(value) {
  const names = [];
  for (let p = Object.getPrototypeOf(value); p !== null; p = Object.getPrototypeOf(p)) names.push(p.constructor?.name);
  return names;
}
