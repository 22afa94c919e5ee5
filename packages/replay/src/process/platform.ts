/** The platform as it was when the replay began: the program's clock and timers are not its own. */

/** Functions that the replay itself uses. */
export const platform: {
  setImmediate: typeof setImmediate;
  setTimeout: typeof setTimeout;
  clearTimeout: typeof clearTimeout;
  clearImmediate: typeof clearImmediate;
  /** Milliseconds of a clock that never goes back. */
  nowMs: () => number;
  /** Processor time of the whole process, in milliseconds. */
  cpuMs: () => number;
  nextTick: typeof process.nextTick;
} = (() => {
  const { cpuUsage, nextTick } = process;
  const cpuMs = (): number => {
    const { user, system } = cpuUsage();
    return (user + system) / 1000;
  };
  const { setImmediate, setTimeout, clearTimeout, clearImmediate, performance } = globalThis;
  return {
    setImmediate,
    setTimeout,
    clearTimeout,
    clearImmediate,
    nowMs: performance.now.bind(performance),
    cpuMs,
    nextTick,
  };
})();
