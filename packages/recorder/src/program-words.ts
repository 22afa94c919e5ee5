/** Names, ids and tags that the program gave; it may well put a key into them. */
import type { Redactor } from '@orangebox/codec';
import type { JsonObject, Redaction, ScopeFrame } from '@orangebox/schema';
import { redactJson } from './redact-json.ts';
import type { CallContext } from './wire-events.ts';

/** The program's words about a call or tool run, secrets replaced. */
export interface ProgramWords {
  scope: ScopeFrame[];
  session?: { id: string; userId?: string };
  /** Absent also where it has no JSON form (cyclic, bigints): the rest does not suffer from it. */
  metadata?: JsonObject;
  callSite?: string;
  redactions: Redaction[];
}

/** Reads a context. */
export function programWords(
  { scope, session: declared }: CallContext,
  callSite: string | undefined,
  redactor: Redactor,
): ProgramWords {
  // Most calls have none, and their request waits for this.
  if (scope.length === 0 && declared === undefined && callSite === undefined) return { scope: [], redactions: [] };
  const session = declared && {
    id: declared.id,
    ...(declared.userId === undefined ? {} : { userId: declared.userId }),
  };
  const words = redactJson(
    { scope: [...scope], ...(session ? { session } : {}), ...(callSite === undefined ? {} : { callSite }) },
    redactor,
    'metadata',
  );
  const copied = plainCopy(declared?.metadata);
  const tags = copied && redactJson(copied, redactor, 'metadata');
  return {
    scope: [],
    ...words.value,
    ...(tags?.value ? { metadata: tags.value } : {}),
    redactions: [...words.redactions, ...(tags?.redactions ?? [])],
  };
}

/** Tags as JSON will have them: the digest must not cover a date object, `NaN`, or what the program changes later. */
function plainCopy(tags: unknown): JsonObject | undefined {
  if (tags === undefined) return undefined;
  try {
    const copy: unknown = JSON.parse(JSON.stringify(tags));
    return typeof copy === 'object' && copy !== null && !Array.isArray(copy) ? (copy as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
