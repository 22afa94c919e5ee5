/** Secrets in values that never were bytes on the wire: tags of the user, answers put together from many pieces. */
import type { Redactor } from '@orangebox/codec';
import type { Redaction } from '@orangebox/schema';

/** `{"scope":[]}` and the like: no secret has less than eight characters. */
const SHORTEST_WITH_SECRET = 20;

/** The same value where nothing was replaced; undefined where it has no JSON form, or none without its secrets. */
export function redactJson<T>(value: T, redactor: Redactor, where: string): { value?: T; redactions: Redaction[] } {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // Cyclic, or with members that throw: nothing that a recording could hold.
  }
  if (text === undefined) return { redactions: [] };
  if (text.length < SHORTEST_WITH_SECRET) return { value, redactions: [] };
  const clean = redactor.text(text, where);
  if (clean.text === text) return { value, redactions: [] };
  try {
    return { value: JSON.parse(clean.text) as T, redactions: clean.redactions };
  } catch {
    return { redactions: clean.redactions };
  }
}
