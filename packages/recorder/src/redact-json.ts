/** Secrets in values that never were bytes on the wire: tags of the user, answers put together from many pieces. */
import { appendAll } from '@orangebox/codec';
import type { Redactor } from '@orangebox/codec';
import type { Json, Redaction } from '@orangebox/schema';

/**
 * The same value where nothing was replaced, else a copy; undefined where it has no JSON form. A pattern that matches
 * beyond a text's end (`password.*`) is held to one text at a time, so that it does not take the whole value.
 */
export function redactJson<T>(value: T, redactor: Redactor, where: string): { value?: T; redactions: Redaction[] } {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // Cyclic, or with members that throw: nothing that a recording could hold.
  }
  if (text === undefined) return { redactions: [] };
  const clean = redactor.text(text, where);
  if (clean.text === text) return { value, redactions: [] };
  try {
    return { value: JSON.parse(clean.text) as T, redactions: clean.redactions };
  } catch {
    return textByText(JSON.parse(text) as Json, redactor, where) as { value?: T; redactions: Redaction[] };
  }
}

function textByText(value: Json, redactor: Redactor, where: string): { value?: Json; redactions: Redaction[] } {
  const redactions: Redaction[] = [];
  const clean = (text: string): string => {
    const result = redactor.text(text, where);
    appendAll(redactions, result.redactions);
    return result.text;
  };
  // A number that is a secret has no form without it.
  const walk = (part: Json): Json | undefined => {
    if (typeof part === 'string') return clean(part);
    if (typeof part === 'number') return clean(String(part)) === String(part) ? part : undefined;
    if (typeof part !== 'object' || part === null) return part;
    if (Array.isArray(part)) return part.map((item) => walk(item) ?? null);
    const members = Object.entries(part).map(([name, member]) => [clean(name), walk(member)] as const);
    return Object.fromEntries(members.filter((member): member is [string, Json] => member[1] !== undefined));
  };
  try {
    const copy = walk(value);
    return copy === undefined ? { redactions } : { value: copy, redactions };
  } catch {
    // Nested too deep: hostile.
    return { redactions };
  }
}
