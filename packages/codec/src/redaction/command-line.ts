/** Credentials in the arguments of a program, and in commands for a shell: what stands behind a name that says so. */
import { fieldVerdict, isCredentialHeader, isSecretEnvName, looksLikeSecret, type NamedSecret } from './names.ts';
import { isMasked } from './tokens.ts';
import { withoutScheme } from './values.ts';

/** A credential within a word. */
interface Place extends NamedSecret {
  word: number;
  start: number;
}

/** Of a longer word, as a prompt on a command line is, no more is looked at. */
const LOOKED_AT_MAX_CHARS = 64 * 1024;
/** Options that are nothing else. */
const ALWAYS: ReadonlySet<string> = new Set([
  'token',
  'secret',
  'credential',
  'credentials',
  'pass',
  'pwd',
  'pat',
  'otp',
]);
/** Last words of options that may be one: `--github-token`, but not `--pad-token "<pad>"`. */
const LAST_WORD = /(?:^|[-_.])(?:token|secret|key|auth|cookie|credentials?|sig|signature|jwt|pat)$/i;
/** Last words of variables that are one whatever they hold. */
const PASSWORD = /(?:password|passwd|passphrase|secret|(?:^|_)(?:pass|pwd))$/i;
/** What is put in by a shell or a template is no credential itself. */
const REFERENCE = /^(?:[$`<]|%\w|\{\{)/;

/** What stands before a name: the beginning, a blank, a sign of the shell, a quote, or the option whose value it begins. */
const BEFORE = '(?<=^|[\\s;&|("\'`=])';
/** `--name=value`, `--name value`, also in a command; `/p:Name=value` of some is not looked for. */
const FLAG = new RegExp(`${BEFORE}--?([A-Za-z][\\w.-]{0,63})(?:=|\\s{1,8}(?!-))`, 'g');
/** `NAME=value` before a command, of `env`, of `docker run -e`, of `--from-literal=name=value`. */
const ASSIGNMENT = new RegExp(`${BEFORE}([A-Za-z_]\\w{0,63})=`, 'g');
/** `Name: value`, of `curl -H`. */
const HEADER = new RegExp(`(?:${BEFORE}|(?<=-H))([A-Za-z][A-Za-z0-9-]{0,63}):\\s{0,8}`, 'g');
/** A value in a command: quoted, or up to what ends a word. */
const VALUE = /"((?:[^"\\]|\\.){0,1024})"|'([^']{0,1024})'|((?:[^\s"'`;&|()\\]|\\.){1,1024})/y;
/** The rest of a header: up to the end of the line, or to the quote that it stands in. */
const UP_TO: { readonly [quote: string]: RegExp } = {
  '"': /(?:[^"\\\n]|\\.){0,1024}/y,
  "'": /[^'\n]{0,1024}/y,
  '`': /[^`\n]{0,1024}/y,
  '': /[^"'`\n]{0,1024}/y,
};

type Form = readonly [pattern: RegExp, mayBe: (name: string) => boolean, is: (name: string, value: string) => boolean];

const FORMS: readonly Form[] = [
  [
    FLAG,
    (name) => ALWAYS.has(name.toLowerCase()) || LAST_WORD.test(name) || fieldVerdict(name) !== 'no',
    isCredentialOption,
  ],
  [ASSIGNMENT, isSecretEnvName, (name, value) => PASSWORD.test(name) || looksLikeSecret(value)],
  [HEADER, isCredentialHeader, isHeaderCredential],
];

/** The credentials of a list of arguments; of a word with spaces, as a shell is given one, those within it. */
export function placesOfSecrets(words: readonly string[]): Place[] {
  const places: Place[] = [];
  words.forEach((word, i) => {
    const next = words[i + 1];
    const flag = word.length > 80 ? undefined : /^--?([A-Za-z][\w.-]*)$/.exec(word)?.[1];
    if (flag !== undefined && next !== undefined && !next.startsWith('-')) {
      if (isCredentialOption(flag, next)) add(places, { word: i + 1, start: 0, name: flag, value: next });
      return;
    }
    const text = word.slice(0, LOOKED_AT_MAX_CHARS);
    const isCommand = /\s/.test(text);
    for (const [pattern, mayBe, is] of FORMS) {
      for (const match of text.matchAll(pattern)) {
        const [whole, name = ''] = match;
        if (!mayBe(name)) continue;
        const start = match.index + whole.length;
        const found =
          pattern === HEADER
            ? headerValueAt(text, match.index, start)
            : isCommand
              ? valueAt(text, start)
              : { value: text.slice(start), start };
        if (found.value !== '' && is(name, found.value)) add(places, { word: i, name, ...found });
      }
    }
  });
  return places;
}

/** The words with tokens in the places of credentials. */
export function replacePlaces(
  words: readonly string[],
  places: readonly Place[],
  token: (secret: NamedSecret) => string,
): string[] {
  const out = [...words];
  // From the end on, so that the places before stay where they are.
  for (const place of [...places].sort((a, b) => b.start - a.start)) {
    const word = out[place.word] ?? '';
    out[place.word] = word.slice(0, place.start) + token(place) + word.slice(place.start + place.value.length);
  }
  return out;
}

function isCredentialOption(name: string, value: string): boolean {
  if (ALWAYS.has(name.toLowerCase()) || fieldVerdict(name) === 'secret') return true;
  return (LAST_WORD.test(name) || fieldVerdict(name) === 'if_secret_like') && looksLikeSecret(value);
}

/** In plain text one word before a colon is a word of it. */
function isHeaderCredential(name: string, value: string): boolean {
  return name.includes('-') || /^(?:authorization|cookie)$/i.test(name) || looksLikeSecret(value);
}

function valueAt(text: string, start: number): { value: string; start: number } {
  VALUE.lastIndex = start;
  const match = VALUE.exec(text);
  if (!match) return { value: '', start };
  const [whole, double, single, bare] = match;
  const value = double ?? single ?? bare ?? '';
  return { value, start: start + (whole === value ? 0 : 1) };
}

function headerValueAt(text: string, nameAt: number, start: number): { value: string; start: number } {
  const before = text.charAt(nameAt - 1);
  const upTo = (before !== '' && UP_TO[before]) || (UP_TO[''] as RegExp);
  upTo.lastIndex = start;
  return { value: upTo.exec(text)?.[0] ?? '', start };
}

function add(places: Place[], { word, start, name, value }: Place): void {
  const secret = withoutScheme(value);
  const at = start + value.length - secret.length;
  if (secret === '' || isMasked(secret) || REFERENCE.test(secret)) return;
  const isTaken = places.some(
    (other) => other.word === word && other.start < at + secret.length && at < other.start + other.value.length,
  );
  if (!isTaken) places.push({ word, start: at, name: `argument.${name.toLowerCase()}`, value: secret });
}
