/** Credentials in the arguments of a program, and in commands for a shell: what stands behind a name that says so. */
import { fieldVerdict, isCredentialHeader, isSecretEnvName, looksLikeSecret, type NamedSecret } from './names.ts';
import { isMasked } from './tokens.ts';
import { withoutScheme } from './values.ts';

/** A credential within a word. */
interface Place extends NamedSecret {
  word: number;
  start: number;
}

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
/** `--name=value`, `--name value`, also in a command; `/p:Name=value` of some is not looked for. */
const FLAG = /(?<=^|[\s;&|("'`])--?([A-Za-z][\w.-]*)(?:=|\s+(?!-))/g;
/** `NAME=value` before a command, of `env`, or of `docker run -e`. */
const ASSIGNMENT = /(?<=^|[\s;&|("'`])([A-Za-z_]\w*)=/g;
/** `Name: value`, of `curl -H`. */
const HEADER = /(?<=^|[\s"'`])([A-Za-z][A-Za-z0-9-]*):\s*/g;
/** A value in a command: quoted, or up to what ends a word. */
const VALUE = /"((?:[^"\\]|\\.)*)"|'([^']*)'|((?:[^\s"'`;&|()\\]|\\.)+)/y;

/** The credentials of a list of arguments; of a word with spaces, as a shell is given one, those within it. */
export function placesOfSecrets(words: readonly string[]): Place[] {
  const places: Place[] = [];
  words.forEach((word, i) => {
    const next = words[i + 1];
    const flag = /^--?([A-Za-z][\w.-]*)$/.exec(word)?.[1];
    if (flag !== undefined && next !== undefined && !next.startsWith('-')) {
      if (isCredentialOption(flag, next)) add(places, { word: i + 1, start: 0, name: flag, value: next });
      return;
    }
    const isCommand = /\s/.test(word);
    for (const [pattern, is] of FORMS) {
      for (const match of word.matchAll(pattern)) {
        const [whole, name = ''] = match;
        const start = match.index + whole.length;
        const found = isCommand ? valueAt(word, start, pattern === HEADER) : { value: word.slice(start), start };
        if (found.value !== '' && is(name, found.value)) add(places, { word: i, name, ...found });
      }
    }
  });
  return places;
}

const FORMS: readonly (readonly [pattern: RegExp, is: (name: string, value: string) => boolean])[] = [
  [FLAG, isCredentialOption],
  [ASSIGNMENT, isSecretEnvName],
  [HEADER, isHeaderCredential],
];

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
  const plain = name.toLowerCase();
  if (ALWAYS.has(plain) || fieldVerdict(name) === 'secret') return true;
  return (LAST_WORD.test(name) || fieldVerdict(name) === 'if_secret_like') && looksLikeSecret(value);
}

/** In plain text one word before a colon is a word of it. */
function isHeaderCredential(name: string, value: string): boolean {
  if (!isCredentialHeader(name)) return false;
  return name.includes('-') || /^(?:authorization|cookie)$/i.test(name) || looksLikeSecret(value);
}

/** A header's value goes on to the end of the quotes that it stands in. */
function valueAt(text: string, start: number, isHeader: boolean): { value: string; start: number } {
  if (isHeader) {
    const opened = Math.max(...['"', "'", '`'].map((quote) => text.lastIndexOf(quote, start - 1)));
    const end = opened < 0 ? -1 : text.indexOf(text.charAt(opened), start);
    return { value: text.slice(start, end < 0 ? undefined : end), start };
  }
  VALUE.lastIndex = start;
  const match = VALUE.exec(text);
  if (!match) return { value: '', start };
  const [whole, double, single, bare] = match;
  const value = double ?? single ?? bare ?? '';
  return { value, start: start + (whole === value ? 0 : 1) };
}

function add(places: Place[], { word, start, name, value }: Place): void {
  const secret = withoutScheme(value);
  const at = start + value.length - secret.length;
  if (secret === '' || isMasked(secret)) return;
  const isTaken = places.some(
    (other) => other.word === word && other.start < at + secret.length && at < other.start + other.value.length,
  );
  if (!isTaken) places.push({ word, start: at, name: `argument.${name.toLowerCase()}`, value: secret });
}
