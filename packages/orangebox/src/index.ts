/** The public API of Orangebox, see `docs/api.md`. Nothing here is needed to record LLM calls. */
export { agent, session, type SessionOptions, step, suppress, tool } from '@orangebox/instrument';
