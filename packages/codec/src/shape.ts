/** Checks values against the JSON Schemas of `@orangebox/schema`: the subset of JSON Schema that those use. */
import type { Json, JsonObject } from '@orangebox/schema';

/** Where and why a value does not fit, undefined when it does. */
export type ShapeCheck = (value: unknown) => string | undefined;

/** Values nested deeper than this do not fit: what walks them later must not run out of stack. */
const MAX_DEPTH = 256;

type Check = (value: unknown, path: string) => string | undefined;

/** Makes the check of a schema. Members that the schema does not name are allowed. */
export function compileShape(schema: JsonObject): ShapeCheck {
  const definitions = new Map<string, Check>();
  for (const [name, definition] of Object.entries(asObject(schema['$defs']))) {
    // Looked up when it runs, since definitions refer to one another.
    const check: { made?: Check } = {};
    definitions.set(`#/$defs/${name}`, (value, path) => {
      check.made ??= compile(asObject(definition), definitions);
      return check.made(value, path);
    });
  }
  const check = compile(schema, definitions);
  return (value) => unwritable(value, MAX_DEPTH) ?? check(value, '');
}

function compile(schema: JsonObject, definitions: ReadonlyMap<string, Check>): Check {
  const checks: Check[] = [];
  const reference = schema['$ref'];
  if (typeof reference === 'string') {
    checks.push((value, path) => definitions.get(reference)?.(value, path));
  }
  if ('const' in schema) {
    const wanted = schema['const'];
    checks.push((value, path) => (value === wanted ? undefined : `${path} is not ${JSON.stringify(wanted)}`));
  }
  const values = schema['enum'];
  if (Array.isArray(values)) {
    const known = new Set<unknown>(values);
    checks.push((value, path) => (known.has(value) ? undefined : `${path} is none of the known values`));
  }
  if (Array.isArray(schema['oneOf'])) checks.push(compileOneOf(schema['oneOf'], definitions));
  const type = schema['type'];
  if (typeof type === 'string') checks.push(compileType(type, schema));
  if (type === 'object') checks.push(compileObject(schema, definitions));
  if (type === 'array') checks.push(compileArray(schema, definitions));
  return (value, path) => {
    for (const check of checks) {
      const wrong = check(value, path);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

function compileType(type: string, schema: JsonObject): Check {
  const wrong = (path: string): string => `${path === '' ? 'the value' : path} is no ${type}`;
  switch (type) {
    case 'string': {
      const pattern = typeof schema['pattern'] === 'string' ? new RegExp(schema['pattern']) : undefined;
      return (value, path) => {
        if (typeof value !== 'string') return wrong(path);
        return pattern && !pattern.test(value) ? `${path} has another form` : undefined;
      };
    }
    case 'integer': {
      const minimum = Number(schema['minimum'] ?? Number.MIN_SAFE_INTEGER);
      return (value, path) => (Number.isSafeInteger(value) && Number(value) >= minimum ? undefined : wrong(path));
    }
    case 'array':
      return (value, path) => (Array.isArray(value) ? undefined : wrong(path));
    case 'object':
      return (value, path) =>
        typeof value === 'object' && value !== null && !Array.isArray(value) ? undefined : wrong(path);
    default:
      return (value, path) => (typeof value === type ? undefined : wrong(path));
  }
}

function compileObject(schema: JsonObject, definitions: ReadonlyMap<string, Check>): Check {
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  const members = Object.entries(asObject(schema['properties'])).map(([name, member]) => ({
    name,
    isRequired: required.has(name),
    check: compile(asObject(member), definitions),
  }));
  const others = schema['additionalProperties'];
  const otherCheck = typeof others === 'object' && others !== null ? compile(asObject(others), definitions) : undefined;
  return (value, path) => {
    const object = value as { [name: string]: unknown };
    for (const { name, isRequired, check } of members) {
      if (!Object.hasOwn(object, name)) {
        if (isRequired) return `${path}/${name} is missing`;
        continue;
      }
      const wrong = check(object[name], `${path}/${name}`);
      if (wrong !== undefined) return wrong;
    }
    if (!otherCheck) return undefined;
    for (const name of Object.keys(object)) {
      const wrong = otherCheck(object[name], `${path}/${name}`);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

function compileArray(schema: JsonObject, definitions: ReadonlyMap<string, Check>): Check {
  const prefix = (Array.isArray(schema['prefixItems']) ? schema['prefixItems'] : []).map((item) =>
    compile(asObject(item), definitions),
  );
  const minItems = Number(schema['minItems'] ?? 0);
  const items = schema['items'];
  const itemCheck = typeof items === 'object' && items !== null ? compile(asObject(items), definitions) : undefined;
  return (value, path) => {
    const array = value as unknown[];
    if (array.length < minItems) return `${path} has too few items`;
    if (items === false && array.length > prefix.length) return `${path} has too many items`;
    for (let i = 0; i < array.length; i++) {
      const wrong = (prefix[i] ?? itemCheck)?.(array[i], `${path}/${i}`);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

function compileOneOf(schemas: Json[], definitions: ReadonlyMap<string, Check>): Check {
  const checks = schemas.map((schema) => compile(asObject(schema), definitions));
  return (value, path) =>
    checks.filter((check) => check(value, path) === undefined).length === 1
      ? undefined
      : `${path} is none of the known forms`;
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

/**
 * What JSON.parse gives and nobody can write again: a value that nests deeper than a limit, or the infinity that a number such
 * as 1e999 becomes. Walks level by level, so that depth costs no stack.
 */
function unwritable(value: unknown, limit: number): string | undefined {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= limit; depth++) {
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== 'object' || item === null) continue;
      for (const inner of Array.isArray(item) ? item : Object.values(item)) {
        if (typeof inner === 'number' && !Number.isFinite(inner)) return 'has a number that is out of range';
        if (typeof inner === 'object' && inner !== null) next.push(inner);
      }
    }
    if (next.length === 0) return undefined;
    level = next;
  }
  return 'is nested too deep';
}
