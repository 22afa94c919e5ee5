/** The platform as it was when the replay began: the program's clock and timers are not its own. */

/** Functions that the replay itself uses. */
export const platform: {
  setImmediate: typeof setImmediate;
  setTimeout: typeof setTimeout;
  clearTimeout: typeof clearTimeout;
  /** Milliseconds of a clock that never goes back. */
  nowMs: () => number;
  nextTick: typeof process.nextTick;
} = (() => {
  const { setImmediate, setTimeout, clearTimeout, performance } = globalThis;
  return {
    setImmediate,
    setTimeout,
    clearTimeout,
    nowMs: performance.now.bind(performance),
    nextTick: process.nextTick,
  };
})();
