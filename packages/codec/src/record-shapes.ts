/** JSON content of records, parsed and checked. */
import { type JsonRecordTypeName, RECORD_JSON_SCHEMAS, type SegmentRecord } from '@orangebox/schema';
import { compileShape, type ShapeCheck } from './shape.ts';

/** Made when first needed: a process that only writes needs none. */
const checks: Map<JsonRecordTypeName, ShapeCheck> = new Map();

/** The record that a frame's JSON holds; undefined when it is no JSON or has another shape. */
export function parseRecord(type: JsonRecordTypeName, text: string): SegmentRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  let check = checks.get(type);
  if (!check) {
    check = compileShape(RECORD_JSON_SCHEMAS[type]);
    checks.set(type, check);
  }
  if (check(value) !== undefined) return undefined;
  // The check was of exactly this type's schema; the members are those of the record.
  return { ...(value as object), type } as SegmentRecord;
}
