/** Differences as they may be shown: what a live request holds is not redacted yet. */
import { isCredentialHeader, type Redactor } from '@orangebox/codec';
import type { LeafDifference, LeafValue } from '../matching/types.ts';

/** Characters of one value that are kept; a diff inside it is made of these. */
const VALUE_CHARS_MAX = 20_000;

/** A difference without secrets. */
export function shownDifference(difference: LeafDifference, redactor: Redactor): LeafDifference {
  const { recorded, live, ...rest } = difference;
  return {
    ...rest,
    ...(recorded === undefined ? {} : { recorded: shown(recorded, rest.path, redactor) }),
    ...(live === undefined ? {} : { live: shown(live, rest.path, redactor) }),
  };
}

function shown({ type, text }: LeafValue, path: string, redactor: Redactor): LeafValue {
  const kept = text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text;
  return { type, text: redacted(kept, path, redactor) };
}

function redacted(text: string, path: string, redactor: Redactor): string {
  const header = /^header\.(.+)$/.exec(path)?.[1];
  if (header !== undefined) {
    return isCredentialHeader(header)
      ? (redactor.headers([[header, text]], 'request').headers[0]?.[1] ?? '')
      : redactor.text(text).text;
  }
  const name = /(?:^|\.)([^.[\]#]+)(?:\[\d+\])*$/.exec(path)?.[1];
  if (path.startsWith('query.') && name !== undefined) return ofQuery(name, text, redactor);
  return name === undefined ? redactor.text(text).text : ofMember(name, text, redactor);
}

function ofQuery(name: string, text: string, redactor: Redactor): string {
  const { url } = redactor.url(`http://h/?${new URLSearchParams({ [name]: text })}`);
  return new URL(url).searchParams.get(name) ?? '';
}

/** A value under its name, so that what is a credential by its name is known as one. */
function ofMember(name: string, text: string, redactor: Redactor): string {
  const { text: json } = redactor.text(JSON.stringify({ [name]: text }));
  try {
    return String(Object.values(JSON.parse(json) as object)[0]);
  } catch {
    return redactor.text(text).text;
  }
}
