/** Finds an engine and prepares the environment for testcontainers; undefined where none answers. */
export function findEngine(env?: NodeJS.ProcessEnv): Promise<string | undefined>;
/** vitest's `globalSetup`. */
export default function setup(): Promise<(() => void) | undefined>;
