import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type JsonObject, RECORD_JSON_SCHEMAS, SNAPSHOT_JSON_SCHEMA } from './index.ts';

const types = readFileSync(new URL('./snapshot.ts', import.meta.url), 'utf8');
const recordTypes = readFileSync(new URL('./segment.ts', import.meta.url), 'utf8');

/** Names of an interface's members as the source states them, by whether they may be missing. */
function members(source: string, name: string): { required: string[]; optional: string[] } {
  const body = new RegExp(`export interface ${name} \\{\\n([\\s\\S]*?)\\n\\}`).exec(source)?.[1] ?? '';
  const found = [...body.matchAll(/^ {2}(\w+)(\??):/gm)].filter((match) => match[1] !== 'type' || name === 'ErrorInfo');
  return {
    required: found
      .filter((match) => match[2] === '')
      .map((match) => match[1] ?? '')
      .sort(),
    optional: found
      .filter((match) => match[2] === '?')
      .map((match) => match[1] ?? '')
      .sort(),
  };
}

function schemaMembers(schema: JsonObject): { required: string[]; optional: string[] } {
  const required = (schema['required'] as string[]).toSorted();
  const optional = Object.keys(schema['properties'] as JsonObject).filter((name) => !required.includes(name));
  return { required, optional: optional.sort() };
}

describe('the JSON Schemas', () => {
  const defs = SNAPSHOT_JSON_SCHEMA['$defs'] as { [name: string]: JsonObject };

  it('name the members that the types of the snapshot name', () => {
    expect(schemaMembers(SNAPSHOT_JSON_SCHEMA)).toEqual(members(types, 'Snapshot'));
    const pairs = {
      Exchange: 'exchange',
      ExchangeRequest: 'request',
      ExchangeResponse: 'response',
      TraceRef: 'trace',
      SessionRef: 'session',
      ErrorInfo: 'error',
      ProcessInfo: 'process',
      ToolExecution: 'tool',
    };
    for (const [type, definition] of Object.entries(pairs)) {
      expect(schemaMembers(defs[definition] ?? {}), type).toEqual(members(types, type));
    }
  });

  it('name the members that the types of the records name', () => {
    for (const [type, schema] of Object.entries(RECORD_JSON_SCHEMAS)) {
      const name = `${type.charAt(0).toUpperCase()}${type.slice(1)}Record`;
      expect(schemaMembers(schema), name).toEqual(members(recordTypes, name));
    }
  });

  it('know every ending, stage and reason that the types know', () => {
    const union = (name: string): string[] =>
      [...(new RegExp(`export type ${name} =([\\s\\S]*?');`).exec(types)?.[1] ?? '').matchAll(/'(\w+)'/g)].map(
        (match) => match[1] ?? '',
      );
    expect((defs['ending'] ?? {})['enum']).toEqual(union('Ending'));
    expect((defs['stage'] ?? {})['enum']).toEqual(union('Stage'));
    expect(JSON.stringify(defs['fidelity'])).toContain(JSON.stringify(union('FidelityReason')));
  });

  it('are published as a file too', () => {
    const file = readFileSync(new URL('../snapshot.schema.json', import.meta.url), 'utf8');
    expect(JSON.parse(file)).toEqual(SNAPSHOT_JSON_SCHEMA);
  });
});
