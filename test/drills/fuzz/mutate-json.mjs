/** Changes JSON by its structure: what comes out is often JSON still, and something else than the reader expects. */

/** Values for others, as JSON text where a value could not say it. */
const VALUES = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  Number.MAX_SAFE_INTEGER,
  4_294_967_296,
  '',
  '0',
  '__proto__',
  'constructor',
  '\ud800',
  '\udfff lone \ud83d',
  '\u0000',
  [],
  {},
  [[]],
  [null, 1, 'x', {}],
  { type: 'text', text: 'x' },
];
const NAMES = ['type', '__proto__', 'constructor', 'toString', 'length', 'id', 'index', 'content', 'role', '0', ''];
const RAW = [
  '1e999',
  '-0',
  '123456789012345678901234567890',
  '"\\ud800"',
  '"\\u0000"',
  'nul',
  '[',
  '{"a":',
  '01',
  '"\\x"',
];

/** A value for another: a new one each time, since it may be changed in its turn. */
const aValue = (random) => structuredClone(random.pick(VALUES));

/** All places of a value: its holder and its name there. At most some thousands. */
function places(value) {
  const found = [];
  const open = [value];
  while (open.length > 0 && found.length < 4000) {
    const holder = open.pop();
    for (const name of Object.keys(holder)) {
      found.push([holder, name]);
      if (typeof holder[name] === 'object' && holder[name] !== null) open.push(holder[name]);
    }
  }
  return found;
}

function set(holder, name, value) {
  if (name === '__proto__') {
    Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
  } else holder[name] = value;
}

function nested(random) {
  const depth = random.chance(0.03) ? 20_000 : 1 + random.below(700);
  const isArray = random.chance(0.5);
  return { raw: isArray ? '['.repeat(depth) + ']'.repeat(depth) : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}` };
}

const swap = (value) => {
  if (typeof value === 'string') return Number.isNaN(Number(value)) ? [value] : Number(value);
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.length === 1 ? value[0] : { ...value };
  return typeof value === 'object' && value !== null ? Object.values(value) : String(value);
};

/** Each changes the member at a place; a `raw` text is put in when the JSON is written. */
const WAYS = [
  ([holder, name], random) => set(holder, name, aValue(random)),
  ([holder, name]) => set(holder, name, swap(holder[name])),
  ([holder, name]) => void (Array.isArray(holder) ? holder.splice(Number(name), 1) : delete holder[name]),
  ([holder, name], random) => {
    if (!Array.isArray(holder)) set(holder, random.pick(NAMES), holder[name]);
  },
  ([holder, name], random) => set(holder, name, { raw: random.pick(RAW) }),
  ([holder, name], random) => set(holder, name, nested(random)),
  ([holder, name], random) => {
    if (typeof holder[name] === 'string') set(holder, name, holder[name].repeat(1 + random.below(50)).slice(0, 20_000));
  },
  ([holder, name], random) => {
    if (typeof holder[name] === 'string') {
      const at = random.below(holder[name].length + 1);
      set(
        holder,
        name,
        holder[name].slice(0, at) + random.pick(['\ud83d', '\n\n', '\r', 'data: ', '"', '\\', '\u2028', '[DONE]']),
      );
    }
  },
  ([holder]) => {
    if (Array.isArray(holder) && holder.length > 0 && holder.length < 50) holder.push(...holder);
  },
  ([holder, name], random, all) => set(holder, name, all[random.below(all.length)][0]),
];

/** JSON text of a value with its `raw` parts as they are; undefined where a change made a circle. */
function write(value) {
  const raws = [];
  let text;
  try {
    text = JSON.stringify(value, (_, inner) => {
      if (typeof inner !== 'object' || inner === null || typeof inner.raw !== 'string') return inner;
      raws.push(inner.raw);
      return `\u0001raw${raws.length - 1}\u0001`;
    });
  } catch {
    return undefined;
  }
  if (raws.length === 0 || text === undefined) return text;
  return text.replace(/"\\u0001raw(\d+)\\u0001"/g, (_, n) => raws[Number(n)]);
}

/** The JSON text of a value after one to three changes; the value itself is left as it was. */
export function mutateJson(value, random) {
  if (typeof value !== 'object' || value === null) return JSON.stringify(aValue(random));
  const copy = structuredClone(value);
  for (let count = 1 + random.below(3); count > 0; count--) {
    const all = places(copy);
    if (all.length === 0) break;
    random.pick(WAYS)(random.pick(all), random, all);
  }
  const text = write(copy) ?? JSON.stringify(value);
  return random.chance(0.05) ? withDoubledName(text, random) : text;
}

/** A member twice, which no value can say. */
function withDoubledName(text, random) {
  const names = [...text.matchAll(/"((?:[^"\\]|\\.){1,40})":/g)];
  if (names.length === 0) return text;
  const { index, 0: name } = random.pick(names);
  return `${text.slice(0, index)}${name}${JSON.stringify(aValue(random))},${text.slice(index)}`;
}
