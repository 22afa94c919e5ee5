/** Calls of one turn. */
export const CALLS: number;
/** Tool executions of one turn. */
export const TOOLS: number;
export function startTurnProvider(): Promise<{ url: string; close(): Promise<void> }>;
