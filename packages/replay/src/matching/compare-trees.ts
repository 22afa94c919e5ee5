/** Where two canonical requests differ: pairs of leaves, each with its path. */
import type { HeaderList } from '@orangebox/schema';
import type { CanonicalBody, CanonicalRequest } from './canonical-request.ts';
import { JsonMembers, JsonNumber, type LosslessJson, losslessText } from './lossless-json.ts';
import type { LeafDifference, LeafValue } from './types.ts';

/** A value that can differ. */
export type Leaf = LosslessJson | Uint8Array;

/** One place at which two requests differ; a side that has nothing there is absent. */
export interface LeafPair {
  path: string;
  recorded?: Leaf;
  live?: Leaf;
  isNoise?: true;
}

/** Called with text that is equal on both sides. */
export type OnEqualText = (text: string) => void;

/** All places at which two requests differ, noise of headers not among them. */
export function differingLeaves(
  recorded: CanonicalRequest,
  live: CanonicalRequest,
  onEqualText?: OnEqualText,
): LeafPair[] {
  const walk = new Walk(onEqualText);
  head(walk, recorded, live);
  walk.body(recorded.body, live.body);
  return walk.pairs;
}

/** All places but those in the body. */
export function differingHeads(recorded: CanonicalRequest, live: CanonicalRequest): LeafPair[] {
  const walk = new Walk(undefined);
  head(walk, recorded, live);
  return walk.pairs;
}

function head(walk: Walk, recorded: CanonicalRequest, live: CanonicalRequest): void {
  walk.value(recorded.method, live.method, 'method');
  walk.value(recorded.origin, live.origin, 'url.origin');
  walk.value(recorded.path, live.path, 'url.path');
  walk.members(asMembers(recorded.query), asMembers(live.query), 'query', true);
  walk.members(asMembers(recorded.headers), asMembers(live.headers), 'header', true);
}

/** Differences of headers that matching passes over. */
export function noiseDifferences(recorded: CanonicalRequest, live: CanonicalRequest): LeafPair[] {
  const walk = new Walk(undefined);
  walk.members(asMembers(recorded.noise), asMembers(live.noise), 'header', true);
  return walk.pairs.map((pair) => ({ ...pair, isNoise: true }));
}

/** A pair as it is shown. */
export function leafDifference({ path, recorded, live, isNoise }: LeafPair): LeafDifference {
  return {
    path,
    ...(recorded === undefined ? {} : { recorded: leafValue(recorded) }),
    ...(live === undefined ? {} : { live: leafValue(live) }),
    ...(isNoise ? { isNoise } : {}),
  };
}

function leafValue(leaf: Leaf): LeafValue {
  if (leaf instanceof Uint8Array) return { type: 'bytes', text: `${leaf.length} bytes` };
  if (typeof leaf === 'string') return { type: 'text', text: leaf };
  const text = losslessText(leaf);
  if (leaf instanceof JsonNumber) return { type: 'number', text };
  if (Array.isArray(leaf)) return { type: 'list', text };
  return { type: leaf instanceof JsonMembers ? 'object' : 'word', text };
}

function asMembers(pairs: HeaderList | [string, string][]): JsonMembers {
  return new JsonMembers(
    pairs.map(([name]) => name),
    pairs.map(([, value]) => value),
  );
}

class Walk {
  readonly pairs: LeafPair[] = [];
  readonly #onEqualText: OnEqualText | undefined;

  constructor(onEqualText: OnEqualText | undefined) {
    this.#onEqualText = onEqualText;
  }

  body(recorded: CanonicalBody, live: CanonicalBody): void {
    if (recorded.kind === 'bytes' || live.kind === 'bytes') {
      const isSame = recorded.kind === live.kind && sameBytes(recorded.value as Uint8Array, live.value as Uint8Array);
      if (!isSame) this.pairs.push({ path: 'body', recorded: recorded.value, live: live.value });
    } else if (recorded.kind === live.kind) {
      this.value(recorded.value, live.value, 'body');
    } else {
      this.pairs.push({ path: 'body', recorded: recorded.value, live: live.value });
    }
  }

  value(recorded: LosslessJson, live: LosslessJson, path: string): void {
    if (typeof recorded === 'string') {
      if (recorded === live) this.#onEqualText?.(recorded);
      else this.pairs.push({ path, recorded, live });
    } else if (recorded instanceof JsonNumber && live instanceof JsonNumber) {
      if (recorded.text === live.text || recorded.canonical === live.canonical) this.#onEqualText?.(recorded.text);
      else this.pairs.push({ path, recorded, live });
    } else if (Array.isArray(recorded) && Array.isArray(live)) {
      this.#list(recorded, live, path);
    } else if (recorded instanceof JsonMembers && live instanceof JsonMembers) {
      this.members(recorded, live, path, false);
    } else if (recorded !== live) {
      this.pairs.push({ path, recorded, live });
    }
  }

  #list(recorded: LosslessJson[], live: LosslessJson[], path: string): void {
    const shared = Math.min(recorded.length, live.length);
    for (let i = 0; i < shared; i++) {
      this.value(recorded[i] as LosslessJson, live[i] as LosslessJson, `${path}[${i}]`);
    }
    for (const [i, item] of recorded.slice(shared).entries()) {
      this.pairs.push({ path: `${path}[${shared + i}]`, recorded: item });
    }
    for (const [i, item] of live.slice(shared).entries()) {
      this.pairs.push({ path: `${path}[${shared + i}]`, live: item });
    }
  }

  /** Members by name, those of one name in their order. Names that only one side has are pairs of names, in order. */
  members(recorded: JsonMembers, live: JsonMembers, path: string, isFlat: boolean): void {
    const places = placesByName(live);
    const lone: number[] = [];
    for (const [i, name] of recorded.names.entries()) {
      const at = places.get(name)?.shift();
      if (at === undefined) lone.push(i);
      else this.value(recorded.values[i] as LosslessJson, live.values[at] as LosslessJson, memberPath(path, name));
    }
    const added = [...places.values()].flat().sort((a, b) => a - b);
    // A name can be a value that was produced, such as a path: then both sides have as many, in the same order.
    const isRenamed = !isFlat && lone.length > 0 && lone.length === added.length;
    for (const [i, from] of lone.entries()) {
      const name = recorded.names[from] as string;
      const value = recorded.values[from] as LosslessJson;
      const to = isRenamed ? (added[i] as number) : undefined;
      if (to === undefined) {
        this.pairs.push({ path: memberPath(path, name), recorded: value });
        continue;
      }
      this.pairs.push({ path: `${memberPath(path, name)}#name`, recorded: name, live: live.names[to] as string });
      this.value(value, live.values[to] as LosslessJson, memberPath(path, name));
    }
    if (isRenamed) return;
    for (const at of added) {
      this.pairs.push({ path: memberPath(path, live.names[at] as string), live: live.values[at] as LosslessJson });
    }
  }
}

function placesByName(members: JsonMembers): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (const [i, name] of members.names.entries()) {
    const list = places.get(name);
    if (list) list.push(i);
    else places.set(name, [i]);
  }
  return places;
}

/** Names that would be read as something else are quoted. */
function memberPath(path: string, name: string): string {
  return /^[^\s.[\]"#]+$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}

/** Whether two byte arrays are equal. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}
