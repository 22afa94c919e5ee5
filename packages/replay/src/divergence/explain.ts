/** Explains the first point at which a replayed run went another way. */
import { createRedactor, type Redactor } from '@orangebox/codec';
import type { LeafDifference, RecordedRequest } from '../matching/types.ts';
import { causeOf } from './cause.ts';
import { firstOtherDraw } from './draws.ts';
import { originsOf } from './origins.ts';
import { shownDifference } from './shown-values.ts';
import { tokenDiff } from './token-diff.ts';
import type { Divergence, DivergenceContext, DivergenceKind, ExplainedDifference } from './types.ts';

const LAST_MATCHED = 10;
const DIFFERENCES_MAX = 50;
const VARIABLES_MAX = 10;

/** The kind of divergence that a matcher's miss is. */
export function kindOfMiss(reason: 'changed' | 'extra' | 'reordered' | 'moved_scope'): DivergenceKind {
  return reason === 'changed' ? 'changed_request' : reason;
}

/** What is said about a divergence. `redactor` knows the secrets of the replaying process. */
export function explainDivergence(
  context: DivergenceContext,
  redactor: Redactor = createRedactor({ secrets: [] }),
): Divergence {
  const found = [...(context.differences ?? context.miss?.nearest[0]?.diff ?? [])];
  const differences = found.slice(0, DIFFERENCES_MAX).map((difference) => explained(difference, redactor));
  const origins = originsOf(differences, context).map((origin) => ({
    ...origin,
    value: redactor.text(origin.value).text,
  }));
  const suspicious = firstOtherDraw(context.recordedDraws, context.liveDraws);
  const nearest = context.miss?.nearest ?? [];
  return {
    kind: context.kind,
    event: context.event,
    step: context.step,
    scope: context.scope,
    summary: summaryOf(context, redactor),
    cause: causeOf(context, differences, origins),
    differences,
    furtherDifferences: Math.max(0, found.length - DIFFERENCES_MAX),
    origins,
    ...(suspicious === undefined ? {} : { suspicious }),
    // Where a word came from a variable, that is told with the word.
    environment: origins.some((origin) => origin.class === 'environment') ? [] : environmentOf(context),
    lastMatched: (context.matched ?? []).slice(-LAST_MATCHED),
    nearest: nearest.map(({ index, diff }) => ({
      index,
      what: labelOf(context.recorded?.find((request) => request.index === index)),
      differences: diff.filter(({ isNoise }) => !isNoise).length,
    })),
    folded: context.consequences?.length ?? 0,
    nextCommands: nextCommands(context),
  };
}

function explained(difference: LeafDifference, redactor: Redactor): ExplainedDifference {
  const shown = shownDifference(difference, redactor);
  const isText = shown.recorded?.type === 'text' && shown.live?.type === 'text';
  return isText ? { ...shown, tokens: tokenDiff(shown.recorded?.text ?? '', shown.live?.text ?? '') } : shown;
}

/** Method, host and path; a query may hold what is nobody's business. */
function labelOf(request: Pick<RecordedRequest, 'method' | 'url'> | undefined): string {
  if (request === undefined) return 'a request';
  try {
    const { host, pathname } = new URL(request.url);
    return `${request.method} ${host}${pathname}`;
  } catch {
    return request.method;
  }
}

function summaryOf(context: DivergenceContext, redactor: Redactor): string {
  if (context.detail !== undefined) return redactor.text(context.detail).text;
  const asked = labelOf(context.asked);
  const at = context.miss?.expected;
  const expected =
    at === undefined ? undefined : `request ${at + 1}, ${labelOf(context.recorded?.find(({ index }) => index === at))}`;
  const next = expected === undefined ? '' : `; the next on record is ${expected}`;
  switch (context.kind) {
    case 'changed_request':
      return `${asked} is not the request on record${next}`;
    case 'extra':
      return `${asked} is not on record${next}`;
    case 'missing':
      return expected === undefined ? 'a recorded request was not asked for' : `${expected}, was not asked for`;
    case 'reordered':
      return `${asked} came before its turn: it is request ${(context.miss?.nearest[0]?.index ?? 0) + 1} on record${next}`;
    case 'moved_scope':
      return `${asked} is on record in another scope, as request ${(context.miss?.nearest[0]?.index ?? 0) + 1}`;
    case 'changed_cancel':
      return 'the program gave up on a call at another place than on record';
    case 'tick_drift':
      return 'timers fired otherwise than on record';
    case 'environment':
      return 'what the program saw of its surroundings is not what is on record';
  }
}

/** What a program may miss: of its environment only plain words come from the recording. */
function environmentOf({ kind, environment = [] }: DivergenceContext): string[] {
  if (kind !== 'missing' && kind !== 'changed_request') return [];
  return environment.slice(0, VARIABLES_MAX).map(({ name, recorded, live }) => {
    if (live === undefined) return `${name} was set on record and is not now`;
    return recorded === undefined ? `${name} is set and was not on record` : `${name} has another value than on record`;
  });
}

/** The recorded call itself, and the rule that would let the difference pass. */
function nextCommands({ run, miss, recorded }: DivergenceContext): string[] {
  const [nearest] = miss?.nearest ?? [];
  const ref = recorded?.find(({ index }) => index === nearest?.index)?.ref;
  const path = miss?.reason === 'changed' ? nearest?.diff.find(({ isNoise }) => !isNoise)?.path : undefined;
  return [
    ...(ref === undefined ? [] : [`orangebox show ${ref}`]),
    ...(run === undefined || path === undefined
      ? []
      : [
          `orangebox replay ${run} --rules rules.json -- …    # [{"at": ${JSON.stringify(path)}, "reason": "why it says nothing"}]`,
        ]),
  ];
}
