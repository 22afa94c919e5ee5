/** What class of cause a divergence has, by what is known. It tells where to look first; it decides nothing. */
import { isCode } from './origins.ts';
import type { CauseClass, DivergenceContext, ExplainedDifference, Origin } from './types.ts';

/** The class of cause. */
export function causeOf(
  context: DivergenceContext,
  differences: readonly ExplainedDifference[],
  origins: readonly Origin[],
): CauseClass {
  switch (context.kind) {
    case 'extra':
      return 'extra';
    case 'missing':
      return 'missing';
    case 'reordered':
    case 'moved_scope':
      return 'order';
    case 'tick_drift':
      return 'clock';
    case 'environment':
      return origins.find(isLive)?.class ?? 'environment';
    case 'changed_cancel':
    case 'changed_request':
      return causeOfChange(context, differences, origins);
  }
}

function isLive({ side }: Origin): boolean {
  return side === 'live';
}

/** The weightiest of what was found: a value with a known origin, then what else is known to be another. */
function causeOfChange(
  context: DivergenceContext,
  differences: readonly ExplainedDifference[],
  origins: readonly Origin[],
): CauseClass {
  const changed = differences.filter(({ isNoise }) => !isNoise);
  const drawn = origins.find(
    ({ side, class: of, isSame }) =>
      side === 'live' && !isSame && (of === 'environment' || of === 'clock' || of === 'random'),
  );
  if (drawn) return drawn.class;
  const isCodeChanged = differs(context.files?.filter(isCode));
  const isDataChanged = differs(context.files?.filter((file) => !isCode(file)));
  const isToolResult = changed.length > 0 && changed.every(({ path }) => isInToolResult(path, context));
  if (isDataChanged && (isToolResult || !isCodeChanged)) return 'file';
  const isToolOther = changed.length > 0 && (context.changedTools?.length ?? 0) > 0;
  if (isToolResult || isToolOther) return 'tool_result';
  if (differs(context.versions) && !isCodeChanged) return 'package';
  if (context.environment?.some(({ recorded, live }) => recorded !== live) && !isCodeChanged) return 'environment';
  const isAsItWas = context.areAllFilesKnown === true && !isCodeChanged;
  return changed.length > 0 && !isAsItWas ? 'code' : 'unknown';
}

function differs(values: DivergenceContext['files']): boolean {
  return values?.some(({ recorded, live }) => recorded !== live) ?? false;
}

/** Whether a place in a request is in what a tool gave: its message, by the role or type that the APIs give it. */
function isInToolResult(path: string, { asked }: DivergenceContext): boolean {
  const found = /^body\.(messages|input|contents)\[(\d+)\]/.exec(path);
  if (!found || !asked) return false;
  let body: unknown;
  try {
    body = JSON.parse(Buffer.from(asked.body).toString());
  } catch {
    return false;
  }
  const list: unknown = Reflect.get(Object(body), found[1] ?? '');
  const message: unknown = Array.isArray(list) ? list[Number(found[2])] : undefined;
  const { role, type, content, parts } = Object(message) as { [name: string]: unknown };
  if (role === 'tool' || role === 'function' || type === 'function_call_output') return true;
  const blocks = Array.isArray(content) ? content : Array.isArray(parts) ? parts : [];
  return blocks.some((block: unknown) => {
    const of = Object(block) as { [name: string]: unknown };
    return of['type'] === 'tool_result' || of['functionResponse'] !== undefined;
  });
}
