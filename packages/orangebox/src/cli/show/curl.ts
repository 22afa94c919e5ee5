/**
 * The request as a curl command to paste into a shell. The recording is hostile: every word is quoted, a body cannot
 * name a file (`--data-raw` takes `@` as it is, `--globoff` takes brackets as they are), only http and https are
 * given out, and a credential's variable is named only where `resend` would send it too: for the provider's own host.
 */
import { decodeBody } from '@orangebox/codec';
import { credentialFor } from '@orangebox/replay';
import { OrangeboxError, type Snapshot } from '@orangebox/schema';

/** Headers that curl makes itself or that belong to the recorded trace. */
const LEFT_OUT = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'expect',
  'keep-alive',
  'traceparent',
  'tracestate',
  'baggage',
  'accept-encoding',
]);

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const SECRET = /\{\{secret:[^}]*\}\}/;

/**
 * Builds the command for the last attempt's request. `OBX_CURL_REFUSED` for anything but http and https.
 *
 * @param env tells the one Azure host that counts as the user's own, and which of a provider's variables is set.
 */
export function curlCommand(snapshot: Snapshot, env: { readonly [name: string]: string | undefined }): string {
  const request = snapshot.exchanges.at(-1)?.request;
  const url = request === undefined ? undefined : tryUrl(request.url);
  if (request === undefined || url === undefined || !/^https?:$/.test(url.protocol) || !TOKEN.test(request.method)) {
    throw new OrangeboxError('OBX_CURL_REFUSED', 'this recording has no HTTP request that curl could be given', {
      hint: 'look at it with --json',
    });
  }
  const credential = credentialFor(url, env);
  const words = [`curl --globoff --request ${quote(request.method)} --url ${quote(url.href)}`];
  const notes: string[] = [];
  for (const [name, value] of request.headers) {
    if (LEFT_OUT.has(name.toLowerCase()) || !TOKEN.test(name)) continue;
    if (SECRET.test(value)) {
      const variable = credential?.header === name.toLowerCase() ? credential.variable : undefined;
      if (variable === undefined) notes.push(`# the value of ${name} was replaced when it was recorded: put yours in`);
      words.push(`--header ${secretHeader(name, value, variable)}`);
    } else words.push(`--header ${quote(`${name}: ${value}`)}`);
  }
  const body = decodeBody(request.body);
  const text = textOf(body);
  if (text !== undefined && SECRET.test(text)) notes.push('# the body has replaced secrets {{secret:…}}: put yours in');
  if (body.length > 0) words.push(text === undefined ? '--data-binary @-' : `--data-raw ${quote(text)}`);
  const command = words.join(' \\\n  ');
  const piped =
    text === undefined ? `printf %s ${quote(Buffer.from(body).toString('base64'))} | base64 -d | ${command}` : command;
  return [...notes, piped].join('\n');
}

function tryUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function secretHeader(name: string, value: string, variable: string | undefined): string {
  const [before = '', after = ''] = value.split(SECRET);
  if (variable === undefined) return quote(`${name}: ${value}`);
  return `${quote(`${name}: ${before}`)}"$${variable}"${after === '' ? '' : quote(after)}`;
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** A word for sh; with control characters or anything invisible, in bash's `$'…'` form, so that nothing steers the terminal. */
function quote(text: string): string {
  const unsafe =
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
  if (!unsafe.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`;
  const inner = text.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
  return `$'${inner.replace(unsafe, (char) => [...new TextEncoder().encode(char)].map((b) => `\\x${b.toString(16).padStart(2, '0')}`).join(''))}'`;
}
