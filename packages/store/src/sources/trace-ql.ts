/** Questions in TraceQL. */
import { FIDELITY_VALUES } from './orangebox-spans.ts';
import type { SpanQuery } from './trace-source.ts';

/** The question that a query is: all its conditions on one span. */
export function traceQlOf({ attributes = {}, serviceName }: SpanQuery): string {
  const conditions = Object.entries(attributes).map(
    ([name, value]) => `${traceQlAttribute(name)} = ${traceQlString(value)}`,
  );
  if (conditions.length === 0) {
    const any = FIDELITY_VALUES.map(({ name, value }) => `${traceQlAttribute(name)} = ${traceQlString(value)}`);
    conditions.push(serviceName === undefined ? any.join(' || ') : `(${any.join(' || ')})`);
  }
  if (serviceName !== undefined) conditions.push(`resource.service.name = ${traceQlString(serviceName)}`);
  return `{ ${conditions.join(' && ')} }`;
}

/** A text as a TraceQL string: quotes and backslashes escaped, control characters by their code. */
export function traceQlString(text: string): string {
  const escaped = text
    .replace(/[\\"]/g, (character) => `\\${character}`)
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
    .replace(/[\u0000-\u001f\u007f]/g, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return `"${escaped}"`;
}

/** An attribute of a span; names with other characters than usual are quoted. */
function traceQlAttribute(name: string): string {
  return `span.${/^[A-Za-z0-9_.]+$/.test(name) ? name : traceQlString(name)}`;
}
