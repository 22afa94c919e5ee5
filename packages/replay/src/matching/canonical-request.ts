/**
 * The canonical form of a request: what is asked for, whatever the way it is written. It forgives the order of members,
 * of query parameters and header fields, header noise, content encodings and the boundary of a multipart form.
 */
import { headerOf, utf8Text } from '@orangebox/codec';
import type { HeaderList } from '@orangebox/schema';
import { decodeContent } from '@orangebox/store';
import { byName, splitHeaders } from './header-noise.ts';
import { JsonMembers, type LosslessJson, parseLossless } from './lossless-json.ts';
import { boundaryOf, multipartForm } from './multipart.ts';

/** A body, by what it is. Bytes that are no text stay bytes. */
export type CanonicalBody =
  | { kind: 'json' | 'form' | 'multipart' | 'text'; value: LosslessJson }
  | { kind: 'bytes'; value: Uint8Array };

/** A request in canonical form. */
export interface CanonicalRequest {
  method: string;
  /** Scheme, host and port. */
  origin: string;
  path: string;
  query: [name: string, value: string][];
  headers: HeaderList;
  noise: HeaderList;
  /** Read when it is first asked for: mostly the bytes are equal, and nobody does. */
  readonly body: CanonicalBody;
}

/** What the canonical form is made from. */
export interface WireRequest {
  method: string;
  url: string;
  headers: HeaderList;
  body: Uint8Array;
}

/** The canonical form of a request. */
export function canonicalRequest(request: WireRequest): CanonicalRequest {
  const { compared, noise } = splitHeaders(request.headers);
  const encoding = headerOf(request.headers, 'content-encoding');
  const decoded = encoding === undefined ? undefined : decodeContent(encoding, request.body);
  let body: CanonicalBody | undefined;
  return {
    method: request.method.toUpperCase(),
    ...canonicalUrl(request.url),
    // An encoding that was undone is a way of writing; one that is not known is part of what is asked for.
    headers: compared
      .filter(([name]) => name !== 'content-encoding' || decoded === undefined)
      .map(([name, value]) => [name, name === 'content-type' ? canonicalType(value) : value]),
    noise,
    get body() {
      return (body ??= canonicalBody(headerOf(request.headers, 'content-type') ?? '', decoded ?? request.body));
    },
  };
}

/** A URL in parts; the credentials of its user part are left out. What does not parse is a path of nowhere. */
export function canonicalUrl(url: string): Pick<CanonicalRequest, 'origin' | 'path' | 'query'> {
  try {
    const { protocol, host, pathname, searchParams } = new URL(url);
    return { origin: `${protocol}//${host}`, path: pathname, query: [...searchParams].sort(byName) };
  } catch {
    return { origin: '', path: url, query: [] };
  }
}

/** The boundary is the client's choice, and so is the case of the type and the space around its parameters. */
function canonicalType(value: string): string {
  const [type = '', ...parameters] = value.split(';').map((part) => part.trim());
  const kept = parameters.filter((parameter) => !/^boundary=/i.test(parameter));
  return [type.toLowerCase(), ...kept].join('; ');
}

/** The canonical form of a decoded body. */
export function canonicalBody(contentType: string, bytes: Uint8Array): CanonicalBody {
  const boundary = boundaryOf(contentType);
  if (boundary !== undefined) {
    const form = multipartForm(bytes, boundary);
    if (form !== undefined) return { kind: 'multipart', value: form };
  }
  const text = utf8Text(bytes);
  if (text === undefined) return { kind: 'bytes', value: bytes };
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType)) return { kind: 'form', value: urlEncodedForm(text) };
  const json = parseLossless(text);
  return json === undefined ? { kind: 'text', value: text } : { kind: 'json', value: json };
}

function urlEncodedForm(text: string): LosslessJson {
  const fields = [...new URLSearchParams(text)];
  return new JsonMembers(
    fields.map(([name]) => name),
    fields.map(([, value]) => value),
  );
}
