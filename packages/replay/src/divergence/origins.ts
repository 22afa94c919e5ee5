/** Where the values that differ came from. */
import { saysTime } from '../matching/time-texts.ts';
import { tokenAt } from '../matching/text-tokens.ts';
import type { ComparedValue, DivergenceContext, Draw, ExplainedDifference, Origin } from './types.ts';

/** A shorter piece of text is found anywhere. */
const VALUE_CHARS_MIN = 4;
/** Of a drawn value, which is mostly a long row of digits, even more. */
const DRAWN_CHARS_MIN = 8;
const ORIGINS_MAX = 40;
const SHOWN_CHARS = 80;
/** Files that are the program. */
const CODE = /\.[cm]?[jt]sx?$/;

/** Whether a file is part of the program, and not what it works on. */
export function isCode({ name }: ComparedValue): boolean {
  return CODE.test(name);
}

/** Origins of what differs, each difference by itself; a value that is found nowhere has none. */
export function originsOf(differences: readonly ExplainedDifference[], context: DivergenceContext): Origin[] {
  const origins: Origin[] = [];
  for (const difference of differences) {
    if (difference.isNoise) continue;
    for (const side of ['live', 'recorded'] as const) {
      for (const value of changedValues(difference, side)) {
        const found = originOf(value, side, context);
        const isTold = origins.some(
          (origin) => origin.path === difference.path && origin.side === side && origin.where === found?.where,
        );
        if (found && !isTold) {
          origins.push({ path: difference.path, side, value: value.slice(0, SHOWN_CHARS), ...found });
        }
        if (origins.length >= ORIGINS_MAX) return origins;
      }
    }
  }
  return origins;
}

/** The values of one side within a difference: whole ones, not the letters that happen to differ in them. */
function changedValues(difference: ExplainedDifference, side: 'recorded' | 'live'): string[] {
  const leaf = difference[side];
  if (leaf === undefined || leaf.type === 'bytes') return [];
  const { tokens } = difference;
  if (tokens === undefined) return [leaf.text];
  const values = new Set<string>();
  let text = '';
  const spans: [from: number, to: number][] = [];
  for (const token of tokens) {
    if (token.op !== 'same' && token.op !== side) continue;
    if (token.op === side) spans.push([text.length, text.length + token.text.length]);
    text += token.text;
  }
  for (let at = 0; at < text.length; ) {
    const { kind, text: piece } = tokenAt(text, at);
    const isChanged = spans.some(([from, to]) => from < at + piece.length && to > at);
    if (kind !== 'other' && isChanged) values.add(piece);
    at += piece.length;
  }
  for (const [from, to] of spans) values.add(text.slice(from, to));
  return [...values];
}

function originOf(
  value: string,
  side: 'recorded' | 'live',
  context: DivergenceContext,
): Pick<Origin, 'class' | 'where' | 'isSame'> | undefined {
  const variable = context.environment?.find((entry) => !entry.isHashed && holds(entry[side], value));
  if (variable && variable.recorded !== variable.live) {
    return { class: 'environment', where: `environment variable ${variable.name}` };
  }
  const draw = drawOf(value, side, context);
  if (draw) {
    const where = draw.at === undefined ? draw.source : `${draw.source} at ${draw.at}`;
    return { class: classOfDraw(draw), where, ...(isSameInBoth(draw, context) ? { isSame: true } : {}) };
  }
  if (value.length < VALUE_CHARS_MIN) return undefined;
  const answer = [...(context.answers ?? [])].reverse().find(({ text }) => text.includes(value));
  return answer ? { class: 'answer', where: `answer ${answer.index + 1}` } : undefined;
}

/** The latest draw that a value says, one that is new in this run before one that is not. */
function drawOf(value: string, side: 'recorded' | 'live', context: DivergenceContext): Draw | undefined {
  const draws = [...((side === 'live' ? context.liveDraws : context.recordedDraws) ?? [])].reverse();
  const found = draws.filter((draw) => says(draw, value));
  return found.find((draw) => !isSameInBoth(draw, context)) ?? found[0];
}

function isSameInBoth({ source, value }: Draw, { recordedDraws = [], liveDraws = [] }: DivergenceContext): boolean {
  const isIt = (draw: Draw): boolean => draw.source === source && draw.value === value;
  return recordedDraws.some(isIt) && liveDraws.some(isIt);
}

/** What kind of draw it was. */
export function classOfDraw({ source }: Draw): 'clock' | 'random' | 'environment' {
  if (/random|uuid|fill/i.test(source)) return 'random';
  return /date|now|time|intl|temporal/i.test(source) ? 'clock' : 'environment';
}

function says(draw: Draw, value: string): boolean {
  if (draw.value === value) return true;
  if (value.length >= DRAWN_CHARS_MIN && draw.value.includes(value)) return true;
  const at = Number(draw.value);
  const token = tokenAt(value, 0);
  return (
    token.kind === 'time' &&
    token.text === value &&
    Number.isFinite(at) &&
    classOfDraw(draw) === 'clock' &&
    saysTime(value, at)
  );
}

function holds(known: string | undefined, value: string): boolean {
  if (known === undefined || known === '') return false;
  return (
    known === value ||
    (value.length >= VALUE_CHARS_MIN && known.includes(value)) ||
    (known.length >= VALUE_CHARS_MIN && value.includes(known))
  );
}
