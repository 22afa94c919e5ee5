/** Stored documents to snapshots: parsed and checked, never cast. */
import { snapshotDigest } from '@orangebox/codec';
import { OrangeboxError, SNAPSHOT_SCHEMA, type Snapshot } from '@orangebox/schema';
import { sha256 } from './hash.ts';

/** Deepest nesting that a document may have. */
const MAX_DEPTH = 256;

/**
 * The snapshot of a JSON document, shape and digest verified, derived views left out (readers make them anew).
 *
 * @param name what the document is called in messages.
 * @throws OrangeboxError `OBX_SNAPSHOT_NOT_A_RECORDING`, `OBX_SNAPSHOT_VERSION`, `OBX_SNAPSHOT_SHAPE`,
 * `OBX_SNAPSHOT_DIGEST`, `OBX_SNAPSHOT_BODY`.
 */
export function parseSnapshot(text: string, name: string): Snapshot {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new OrangeboxError('OBX_SNAPSHOT_NOT_A_RECORDING', `${name} is not JSON`, {
      cause,
      hint: 'a snapshot is one JSON document (or that, gzipped)',
    });
  }
  return verifySnapshot(value, name);
}

/** As {@link parseSnapshot}, of a value that is JSON already. */
export function verifySnapshot(value: unknown, name: string): Snapshot {
  const schema = isObject(value) ? value['schema'] : undefined;
  if (schema !== SNAPSHOT_SCHEMA) throw wrongSchema(schema, name);
  const fault = shapeFault(value as Record<string, unknown>);
  if (fault) throw shapeError(`${name}: ${fault}`);
  const { call: _call, request: _request, response: _response, ...kept } = value as unknown as Snapshot;
  const { toolExecutions: _tools, nextMessages: _next, ...snapshot } = kept;
  const digest = snapshotDigest(snapshot, sha256);
  if (digest !== snapshot.digest) {
    throw new OrangeboxError(
      'OBX_SNAPSHOT_DIGEST',
      `${name} does not have the digest it states: it is damaged or was changed`,
      { hint: 'fetch it again from the object store, or show the copy in the segments' },
    );
  }
  return snapshot;
}

function wrongSchema(schema: unknown, name: string): OrangeboxError {
  if (typeof schema === 'string' && /^orangebox\.snapshot\/\d+$/.test(schema)) {
    return new OrangeboxError(
      'OBX_SNAPSHOT_VERSION',
      `${name} is of format ${schema}; this release reads ${SNAPSHOT_SCHEMA}`,
      {
        hint: 'update orangebox to read it',
      },
    );
  }
  return new OrangeboxError('OBX_SNAPSHOT_NOT_A_RECORDING', `${name} is not a snapshot of Orangebox`, {
    hint: `snapshots start with {"schema":"${SNAPSHOT_SCHEMA}"`,
  });
}

function shapeError(message: string): OrangeboxError {
  return new OrangeboxError('OBX_SNAPSHOT_SHAPE', message, { hint: 'fetch the snapshot again' });
}

type Fields = Record<string, unknown>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const HEX16 = /^[0-9a-f]{16}$/;
const HEX32 = /^[0-9a-f]{32}$/;
const HEX64 = /^[0-9a-f]{64}$/;
const NANO = /^[0-9]{1,20}$/;

function isText(value: unknown, pattern?: RegExp): value is string {
  return typeof value === 'string' && (pattern?.test(value) ?? true);
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** What is wrong with a document, or undefined. */
function shapeFault(document: Fields): string | undefined {
  if (isTooDeep(document, 0)) return 'it is nested too deeply';
  const { trace, time, process, fidelity, exchanges } = document;
  if (!isObject(trace) || !isText(trace['traceId'], HEX32) || !isText(trace['spanId'], HEX16)) return 'bad trace ids';
  if (document['id'] !== trace['spanId']) return 'id and span id differ';
  if (!['llm', 'tool', 'http', 'state'].includes(String(document['kind']))) return 'unknown kind';
  if (!isObject(time) || !isText(time['startUnixNano'], NANO) || !isText(time['endUnixNano'], NANO)) return 'bad time';
  // The key holds a date; years beyond four digits would break its form.
  if (String(time['startUnixNano']).length > 19 || String(time['endUnixNano']).length > 20) return 'bad time';
  if (!isText(document['digest'], HEX64)) return 'bad digest';
  if (!isObject(process)) return 'no process';
  if (!isObject(fidelity) || !isText(fidelity['level'])) return 'no fidelity';
  if (!Array.isArray(document['scope']) || !document['scope'].every(isScopeFrame)) return 'bad scope';
  if (!Array.isArray(document['redactions']) || !document['redactions'].every(isRedaction)) return 'bad redactions';
  if (document['session'] !== undefined && !isSession(document['session'])) return 'bad session';
  if (document['error'] !== undefined && !isError(document['error'])) return 'bad error';
  if (document['tool'] !== undefined && !(isObject(document['tool']) && isText(document['tool']['name'])))
    return 'bad tool';
  if (!Array.isArray(exchanges)) return 'no exchanges';
  for (const [i, exchange] of exchanges.entries()) {
    const fault = isObject(exchange) ? exchangeFault(exchange) : 'no object';
    if (fault) return `exchange ${i}: ${fault}`;
  }
  return undefined;
}

function isTooDeep(value: unknown, depth: number): boolean {
  if (depth > MAX_DEPTH) return true;
  if (Array.isArray(value)) return value.some((item) => isTooDeep(item, depth + 1));
  return isObject(value) && Object.values(value).some((item) => isTooDeep(item, depth + 1));
}

function isScopeFrame(frame: unknown): boolean {
  return isObject(frame) && isText(frame['kind']) && isText(frame['name']) && isText(frame['id']);
}

function isRedaction(redaction: unknown): boolean {
  return isObject(redaction) && isText(redaction['where']) && isText(redaction['token']);
}

function isSession(session: unknown): boolean {
  return isObject(session) && isText(session['id']) && isSize(session['seq']) && isText(session['basis']);
}

function isError(error: unknown): boolean {
  return isObject(error) && isText(error['type']) && isText(error['message']) && isText(error['stage']);
}

function exchangeFault(exchange: Fields): string | undefined {
  const { request, response } = exchange;
  if (!isSize(exchange['attempt'])) return 'bad attempt';
  if (!isText(exchange['startUnixNano'], NANO) || !isText(exchange['endOffsetNano'], NANO)) return 'bad time';
  if (!isText(exchange['ending']) || !isText(exchange['stage'])) return 'no ending';
  if (exchange['error'] !== undefined && !isError(exchange['error'])) return 'bad error';
  if (!isObject(request) || !isText(request['method']) || !isText(request['url'])) return 'bad request';
  const requestFault = messageFault(request);
  if (requestFault) return `request: ${requestFault}`;
  if (response === undefined) return undefined;
  if (!isObject(response) || !isSize(response['status']) || response['status'] > 999) return 'bad status';
  if (!isText(response['statusText']) || !isText(response['headOffsetNano'], NANO)) return 'bad response head';
  const responseFault = messageFault(response);
  return responseFault && `response: ${responseFault}`;
}

function messageFault(message: Fields): string | undefined {
  const { headers, body, chunks } = message;
  if (!Array.isArray(headers) || !headers.every(isHeader)) return 'bad headers';
  if (!isObject(body) || !isBody(body, 0)) return 'bad body';
  if (!Array.isArray(chunks)) return 'no chunks';
  let sum = 0;
  for (const chunk of chunks) {
    if (!isObject(chunk) || !isSize(chunk['sizeBytes']) || !isText(chunk['offsetNano'], NANO)) return 'bad chunk';
    sum += chunk['sizeBytes'];
  }
  return sum === body['sizeBytes'] ? undefined : 'the chunks do not add up to the body';
}

function isHeader(header: unknown): boolean {
  return Array.isArray(header) && header.length === 2 && isText(header[0]) && isText(header[1]);
}

function isBody(body: Fields, depth: number): boolean {
  if (!isSize(body['sizeBytes']) || depth > 64) return false;
  switch (body['form']) {
    case 'empty':
      return body['sizeBytes'] === 0;
    case 'text':
      return isText(body['text']);
    case 'base64':
      return isText(body['base64']);
    case 'delta':
      return (
        isText(body['baseSha256'], HEX64) &&
        isSize(body['prefixBytes']) &&
        isSize(body['suffixBytes']) &&
        isObject(body['middle']) &&
        isBody(body['middle'], depth + 1)
      );
    default:
      return false;
  }
}
