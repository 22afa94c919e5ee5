/** Finds an engine and prepares the environment for testcontainers; undefined where none answers. */
export function findEngine(env?: NodeJS.ProcessEnv): Promise<string | undefined>;
/** vitest's: starts an engine where one is demanded and none answers. */
export function setup(): Promise<void>;
/** vitest's: ends what `setup` started, and nothing else. */
export function teardown(): Promise<void>;
