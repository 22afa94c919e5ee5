/** A divergence as text for people. */
import type { LeafValue } from '../matching/types.ts';
import type { Divergence, ExplainedDifference } from './types.ts';

const SHOWN_DIFFERENCES = 8;
const SHOWN_CHARS = 160;

/** Where nothing that is known is another. */
const UNKNOWN =
  '    no file and no value on record is another: it may be of what is not on record, such as standard input or a file elsewhere';

/** Lines of text, without colour; control characters are escaped. */
export function divergenceText(divergence: Divergence): string {
  const { kind, event, step, scope, cause } = divergence;
  const shown = divergence.differences.filter(({ isNoise }) => !isNoise);
  const noise = divergence.differences.filter(({ isNoise }) => isNoise);
  const more = shown.length - SHOWN_DIFFERENCES + divergence.furtherDifferences;
  const lines = [
    `diverged at step ${step}, event ${event}: ${kind.replaceAll('_', ' ')}`,
    `  ${divergence.summary}`,
    ...(scope.length === 0 ? [] : [`  scope: ${scope.join(' > ')}`]),
    `  likely cause: ${cause.replaceAll('_', ' ')}`,
    ...(cause === 'unknown' ? [UNKNOWN] : []),
    ...shown.slice(0, SHOWN_DIFFERENCES).flatMap(differenceLines),
    ...(more > 0 ? [`  … and ${countOf(more)} more`] : []),
    ...noise.map(({ path, recorded, live }) => `  also: ${path} ${valueText(recorded)} → ${valueText(live)}`),
    ...section(
      'where values came from',
      divergence.origins.map(({ path, side, value, where }) => `${path} (${side}): ${quoted(value)} from ${where}`),
    ),
    ...section('environment', divergence.environment),
    ...(divergence.suspicious ? [`  first suspicious: ${divergence.suspicious.message}`] : []),
    ...section(
      'last matched',
      divergence.lastMatched.map(
        (matched) => `${matched.event} ${matched.what}${matched.rung === undefined ? '' : ` (${matched.rung})`}`,
      ),
    ),
    ...section(
      'nearest on record',
      divergence.nearest.map(
        ({ index, what, differences }) => `request ${index + 1}, ${what}: ${countOf(differences)}`,
      ),
    ),
    ...(divergence.folded > 0 ? [`  ${divergence.folded} more that follow from it`] : []),
    ...section('next', divergence.nextCommands),
  ];
  return `${lines.map(escapedLine).join('\n')}\n`;
}

function countOf(differences: number): string {
  if (differences === 0) return 'the same';
  return differences === 1 ? '1 difference' : `${differences} differences`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`  ${title}:`, ...lines.map((line) => `    ${line}`)];
}

function differenceLines({ path, recorded, live, tokens }: ExplainedDifference): string[] {
  if (tokens === undefined) return [`  ${path}`, `    - ${valueText(recorded)}`, `    + ${valueText(live)}`];
  const side = (op: 'recorded' | 'live'): string =>
    tokens
      .filter((token) => token.op === 'same' || token.op === op)
      .map((token) => (token.op === 'same' ? token.text : `⟦${token.text}⟧`))
      .join('');
  return [`  ${path}`, `    - ${cut(side('recorded'))}`, `    + ${cut(side('live'))}`];
}

function valueText(value: LeafValue | undefined): string {
  if (value === undefined) return '(absent)';
  return value.type === 'text' ? quoted(value.text) : cut(value.text);
}

function quoted(text: string): string {
  return JSON.stringify(cut(text));
}

/** The part with the change, where there is one. */
function cut(text: string): string {
  if (text.length <= SHOWN_CHARS) return text;
  const from = Math.max(0, text.indexOf('⟦') - SHOWN_CHARS / 4);
  return `${from > 0 ? '…' : ''}${text.slice(from, from + SHOWN_CHARS)}…`;
}

/**
 * What steers a terminal or hides from a reader: controls, marks that turn the direction of reading, invisible characters,
 * line separators, lone surrogates. Joiners stay, since scripts and emoji need them.
 */
const UNSAFE =
  /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0]/gu;

/** A line without such characters: a recording may hold what would move the cursor of a terminal. */
export function escapedLine(line: string): string {
  return line.replace(UNSAFE, (sign) => {
    const hex = (sign.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
  });
}
