/** Random numbers that a seed gives again: each input has a generator of its own, so that one alone can be made anew. */

/** Mixes a seed, the kind of input and its number to 32 bits. */
function mix(seed, kind, index) {
  let hash = 2_166_136_261 ^ seed;
  for (const code of [...kind].map((c) => c.charCodeAt(0))) hash = Math.imul(hash ^ code, 16_777_619);
  hash = Math.imul(hash ^ index, 2_654_435_761);
  hash ^= hash >>> 15;
  return Math.imul(hash, 2_246_822_519) >>> 0;
}

/** The generator of an input. */
export function randomOf(seed, kind, index) {
  let state = mix(seed, kind, index);
  /** From 0 up to 1. */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  /** A whole number below `limit`. */
  const below = (limit) => Math.floor(next() * limit);
  return {
    next,
    below,
    /** One of a list. */
    pick: (list) => list[below(list.length)],
    /** True in this share of cases. */
    chance: (share) => next() < share,
  };
}
