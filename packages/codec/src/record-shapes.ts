/** JSON content of records, parsed and checked. */
import type { RecordTypeName, SegmentRecord } from '@orangebox/schema';

/** The record that a frame's JSON holds; undefined when it has another shape. */
export function parseRecord(type: RecordTypeName, text: string): SegmentRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return { ...value, type } as unknown as SegmentRecord;
}
