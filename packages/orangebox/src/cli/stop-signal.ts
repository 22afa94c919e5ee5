/** Waiting for the end that somebody asks for. */

/** Resolves at the first SIGINT or SIGTERM; the next one ends the process as it would have without us. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];
    const listener = (): void => {
      for (const signal of signals) process.off(signal, listener);
      resolve();
    };
    for (const signal of signals) process.on(signal, listener);
  });
}
