/** Lines of index objects, parsed and checked. */
import { INDEX_ROW_JSON_SCHEMA, type IndexRow, snapshotKey } from '@orangebox/schema';
import { compileShape, type ShapeCheck } from './shape.ts';

let check: ShapeCheck | undefined;

/**
 * The row that a line holds; undefined when it is no JSON, has another shape, or its key is not that of its own facts
 * (whoever follows the key would open something else).
 */
export function parseIndexRow(line: string): IndexRow | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  check ??= compileShape(INDEX_ROW_JSON_SCHEMA);
  if (check(value) !== undefined) return undefined;
  const row = value as IndexRow;
  return snapshotKey(row) === row.key ? row : undefined;
}
