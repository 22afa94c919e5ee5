/** The public API of Orangebox, see `docs/api.md`. Nothing here is needed to record LLM calls. */
export { agent, level, session, type SessionOptions, setLevel, step, suppress, tool } from '@orangebox/instrument';
export type { Level } from '@orangebox/schema';
