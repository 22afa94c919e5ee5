/** Asynchronous work on a sequence, several at a time, results in the order of the sequence. */

/**
 * Gives `work`'s results in order, with up to `concurrency` of them under way. Nothing is taken from the sequence before
 * there is room for it. A failure ends the sequence; what is under way then ends unheard.
 */
export async function* mapInOrder<In, Out>(
  items: AsyncIterable<In> | Iterable<In>,
  concurrency: number,
  work: (item: In) => Promise<Out>,
): AsyncGenerator<Out, void, undefined> {
  const underWay: Promise<Out>[] = [];
  const start = (item: In): void => {
    const promise = work(item);
    // It may fail while an earlier one is waited for; that is no unhandled rejection.
    promise.catch(() => {});
    underWay.push(promise);
  };
  for await (const item of items) {
    start(item);
    if (underWay.length >= concurrency) yield await (underWay.shift() as Promise<Out>);
  }
  while (underWay.length > 0) yield await (underWay.shift() as Promise<Out>);
}

/** As {@link mapInOrder}, all results at once; the first failure is what it rejects with. */
export async function mapAll<In, Out>(
  items: Iterable<In>,
  concurrency: number,
  work: (item: In) => Promise<Out>,
): Promise<Out[]> {
  const results: Out[] = [];
  for await (const result of mapInOrder(items, concurrency, work)) results.push(result);
  return results;
}
