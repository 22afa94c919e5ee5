/** Errors of the program as plain facts, secrets replaced. The error object itself is never kept. */
import type { Redactor } from '@orangebox/codec';
import type { ErrorInfo, Redaction, Stage } from '@orangebox/schema';

const MAX_MESSAGE_CHARS = 16 * 1024;

/** Reads an error, whose getters may do anything; undefined when there is none. */
export function errorInfo(
  error: unknown,
  stage: Stage,
  redactor: Redactor,
): { info: ErrorInfo; redactions: Redaction[] } | undefined {
  if (error === undefined || error === null) return undefined;
  const redactions: Redaction[] = [];
  const clean = (text: string): string => {
    // Searched before it is cut, so that no half of a secret stays at the end.
    const result = redactor.text(text.slice(0, 4 * MAX_MESSAGE_CHARS));
    for (const redaction of result.redactions) redactions.push({ ...redaction, where: 'error' });
    return result.text.slice(0, MAX_MESSAGE_CHARS);
  };
  const code = textOf(error, 'code') ?? textOf(memberOf(error, 'cause'), 'code');
  const stack = textOf(error, 'stack');
  const info: ErrorInfo = {
    stage,
    type: clean(typeName(error)),
    ...(code === undefined ? {} : { code: clean(code) }),
    message: clean(textOf(error, 'message') ?? describe(error)),
    ...(stack === undefined ? {} : { stack: clean(stack) }),
  };
  return { info, redactions };
}

function typeName(error: unknown): string {
  const name = textOf(error, 'name');
  if (name !== undefined && name !== '') return name;
  return typeof error === 'object' ? (textOf(memberOf(error, 'constructor'), 'name') ?? 'Error') : typeof error;
}

function describe(error: unknown): string {
  try {
    return typeof error === 'object' ? '' : String(error);
  } catch {
    return '';
  }
}

function memberOf(value: unknown, name: string): unknown {
  try {
    return (typeof value === 'object' && value !== null) || typeof value === 'function'
      ? (value as Record<string, unknown>)[name]
      : undefined;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown, name: string): string | undefined {
  const member = memberOf(value, name);
  if (typeof member === 'string') return member;
  return typeof member === 'number' ? String(member) : undefined;
}
