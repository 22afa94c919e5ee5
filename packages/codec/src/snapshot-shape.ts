/** Snapshots from outside: checked against the schema before anything trusts their types. */
import { SNAPSHOT_JSON_SCHEMA } from '@orangebox/schema';
import { compileShape, type ShapeCheck } from './shape.ts';

let check: ShapeCheck | undefined;

/** Where and why a value is no snapshot of this version, undefined when it is one. */
export function snapshotShapeError(value: unknown): string | undefined {
  check ??= compileShape(SNAPSHOT_JSON_SCHEMA);
  return check(value);
}
