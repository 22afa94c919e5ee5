/** Finds those of many items that have an effect, by trying many of them at once and halving what has one. */

/** Items that have an effect, alone or only together, and what was seen of it. */
export interface Found<Item, Effect> {
  items: readonly Item[];
  effect: Effect;
}

/**
 * Of `n` items of which `k` have an effect, some `2 k log2(n / k)` trials are made, at most `width` at a time, and one where none
 * has. An effect that hides another one in the same trial does not hide it in the trials of their halves.
 */
export async function narrow<Item, Effect>(
  items: readonly Item[],
  tried: (items: readonly Item[]) => Promise<Effect | undefined>,
  width: number,
): Promise<Found<Item, Effect>[]> {
  const limited = limit(width);
  const search = async (group: readonly Item[]): Promise<Found<Item, Effect>[]> => {
    const effect = await limited(() => tried(group));
    if (effect === undefined) return [];
    if (group.length < 2) return [{ items: group, effect }];
    const middle = group.length >> 1;
    const halves = await Promise.all([search(group.slice(0, middle)), search(group.slice(middle))]);
    const found = halves.flat();
    return found.length > 0 ? found : [{ items: group, effect }];
  };
  return items.length === 0 ? [] : search(items);
}

/** Has no more than so many works under way. */
function limit(width: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = width;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free--;
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
