/** The few protobuf messages of OTLP that carry snapshots, walked without building objects of what is not needed. */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** An attribute's value; other kinds than these are not needed. */
export type AttributeValue = string | number | Uint8Array;

/** Attributes by name. */
export type Attributes = Map<string, AttributeValue>;

/** How many fields may still be visited: a few megabytes can hold millions of empty messages. */
export interface FieldBudget {
  left: number;
}

/** A value that is a string; undefined for any other. */
export function textOf(value: AttributeValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** `KeyValue` messages in a repeated field. Strings, integers and bytes are kept, other values are passed over. */
export function readAttributes(bytes: Uint8Array, field: number, into: Attributes, budget?: FieldBudget): void {
  eachMessage(bytes, field, (keyValue) => readAttribute(keyValue, into, budget), budget);
}

/** One `KeyValue` message. */
export function readAttribute(bytes: Uint8Array, into: Attributes, budget?: FieldBudget): void {
  let key = '';
  let value: AttributeValue | undefined;
  eachField(
    bytes,
    (number, type, reader) => {
      if (number === 1 && type === WireType.LengthDelimited) key = reader.string();
      else if (number === 2 && type === WireType.LengthDelimited) value = readAnyValue(reader.bytes(), budget);
      else reader.skip(type, number);
    },
    budget,
  );
  if (key !== '' && value !== undefined) into.set(key, value);
}

function readAnyValue(bytes: Uint8Array, budget?: FieldBudget): AttributeValue | undefined {
  let value: AttributeValue | undefined;
  eachField(
    bytes,
    (number, type, reader) => {
      if (number === 1 && type === WireType.LengthDelimited) value = reader.string();
      else if (number === 3 && type === WireType.Varint) value = Number(reader.int64());
      else if (number === 7 && type === WireType.LengthDelimited) value = reader.bytes();
      else reader.skip(type, number);
    },
    budget,
  );
  return value;
}

/** Calls `visit` with each message in a repeated field. Bytes are views, never copies. */
export function eachMessage(
  bytes: Uint8Array,
  field: number,
  visit: (message: Uint8Array) => void,
  budget?: FieldBudget,
): void {
  eachField(
    bytes,
    (number, type, reader) => {
      if (number === field && type === WireType.LengthDelimited) visit(reader.bytes());
      else reader.skip(type, number);
    },
    budget,
  );
}

/**
 * Calls `visit` with each field of a message; `visit` reads or skips it.
 *
 * @throws Error what is not protobuf, or has more fields than the budget allows.
 */
export function eachField(
  bytes: Uint8Array,
  visit: (field: number, type: WireType, reader: BinaryReader) => void,
  budget?: FieldBudget,
): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    if (budget !== undefined) {
      budget.left -= 1;
      if (budget.left < 0) throw new RangeError('too many fields');
    }
    const [field, type] = reader.tag();
    visit(field, type, reader);
  }
}
