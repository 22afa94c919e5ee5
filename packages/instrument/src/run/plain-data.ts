/** Values that JSON holds whole: what a replay gives again has to be the very same. */

/** Nested deeper, a value is taken for one that JSON does not hold. */
const MAX_DEPTH = 100;
/** Larger ones are not kept. */
const MAX_JSON_CHARS = 8 * 1024 * 1024;

/** JSON of a value that is plain data: texts, finite numbers, booleans, null, lists and objects of these. Undefined for all else. */
export function plainJson(value: unknown): string | undefined {
  if (!isPlain(value, 0)) return undefined;
  const json = JSON.stringify(value);
  return json.length > MAX_JSON_CHARS ? undefined : json;
}

function isPlain(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== 'object' || depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) {
    return (
      Object.getPrototypeOf(value) === Array.prototype &&
      isDense(value) &&
      value.every((item) => isPlain(item, depth + 1))
    );
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  return Reflect.ownKeys(value).every((key) => {
    const own = Object.getOwnPropertyDescriptor(value, key);
    // `toJSON` would write it otherwise, and a getter may say something else each time.
    const isData = own !== undefined && 'value' in own && own.enumerable === true;
    return typeof key === 'string' && key !== 'toJSON' && isData && isPlain(own?.value, depth + 1);
  });
}

/** No holes, and no members beside the items. */
function isDense(list: readonly unknown[]): boolean {
  return Object.keys(list).length === list.length && Object.getOwnPropertySymbols(list).length === 0;
}
