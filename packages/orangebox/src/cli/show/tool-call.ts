/** Tool calls with arguments as a person reads them. */
import type { Json, ToolCall } from '@orangebox/schema';
import { escapeLine, escapeText, safeJson } from '../text/escape.ts';
import type { Pen } from './pen.ts';
import { writeText } from './text-block.ts';

/** `→ get_weather(city: "Berlin")`, or one argument per line where that is too long or has several lines. */
export function renderToolCall(pen: Pen, call: ToolCall, indent: string): void {
  const c = pen.colors;
  const id = call.id === undefined ? '' : `  ${c.dim(escapeLine(call.id))}`;
  const type = call.type === undefined || call.type === 'function' ? '' : c.dim(` (${escapeLine(call.type)})`);
  const head = `${indent}${c.magenta('→')} ${c.bold(escapeLine(call.name))}${type}`;
  const room = (pen.width ?? 100) - indent.length - call.name.length - (call.id?.length ?? 0) - 8;
  const list = parseList(call.arguments);
  if (list !== undefined && list.length <= room) {
    pen.line(`${head}(${list})${id}`);
    return;
  }
  const parsed = parseObject(call.arguments);
  if (parsed === undefined) {
    pen.line(`${head}${id}`);
    if (call.arguments.trim() !== '') writeText(pen, call.arguments, `${indent}    `);
    return;
  }
  const entries = Object.entries(parsed);
  const short = entries.map(([key, value]) => `${escapeLine(key)}: ${safeJson(value)}`).join(', ');
  const multiline = entries.some(([, value]) => typeof value === 'string' && value.includes('\n'));
  if (short.length <= room && !multiline) {
    pen.line(`${head}(${short})${id}`);
    return;
  }
  pen.line(`${head}${id}`);
  for (const [key, value] of entries) renderArgument(pen, key, value, `${indent}    `);
}

function renderArgument(pen: Pen, key: string, value: Json, indent: string): void {
  const name = pen.colors.cyan(`${escapeLine(key)}:`);
  if (typeof value === 'string' && value.includes('\n')) {
    pen.line(`${indent}${name}`);
    writeText(pen, value, `${indent}  `);
    return;
  }
  const flat = safeJson(value);
  const room = (pen.width ?? 100) - indent.length - key.length - 2;
  if (flat.length <= room || typeof value !== 'object' || value === null) {
    if (flat.length <= room) pen.line(`${indent}${name} ${flat}`);
    else {
      pen.line(`${indent}${name}`);
      writeText(pen, flat, `${indent}  `);
    }
    return;
  }
  pen.line(`${indent}${name}`);
  writeText(pen, safeJson(value, 2), `${indent}  `);
}

/** JSON text made readable: over several lines where it is long, as it is where it is no JSON. */
export function prettyJsonText(text: string, width: number): string {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed) || trimmed.length <= width) return escapeText(text);
  try {
    return safeJson(JSON.parse(trimmed) as Json, 2);
  } catch {
    return escapeText(text);
  }
}

/** The arguments of a wrapped function, where they are not one single object. */
function parseList(text: string): string | undefined {
  if (!text.startsWith('[')) return undefined;
  try {
    return (JSON.parse(text) as Json[]).map((value) => safeJson(value)).join(', ');
  } catch {
    return undefined;
  }
}

function parseObject(text: string): { [key: string]: Json } | undefined {
  if (text.trim() === '') return {};
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
