/**
 * Agents as people write them, none of which knows of Orangebox (`test/run-replay/programs/agents`): name, file, what the
 * provider does (`test/fixtures/provider/script.mjs`), and the exit code.
 */
export const agents = [
  { name: 'openai, chat loop', file: 'chat-loop.mjs', script: 'status=429,nth=3,retry-after-ms=20,slow=1', code: 3 },
  { name: 'openai, responses', file: 'responses.cjs', script: 'split=700', code: 0 },
  { name: 'openai, runTools', file: 'run-tools.mjs', script: 'slow=1', code: 0 },
  { name: '@openai/agents', file: 'openai-agents.mjs', code: 0 },
  { name: 'Vercel AI SDK', file: 'ai-sdk.mjs', code: 0 },
  { name: 'LangGraph', file: 'langgraph.cjs', code: 0 },
  { name: 'worker and child process', file: 'workshop.mjs', code: 0 },
  { name: '@anthropic-ai/sdk', file: 'anthropic.mjs', script: 'gzip', code: 4 },
].map((agent) => ({ ...agent, file: `agents/${agent.file}`, packages: 'agents' }));

/** Races, parallel streams, a timeout that beats an answer, an abort in mid-stream: what it prints is the order of its events. */
export const order = { name: 'order', file: 'order.mjs', script: 'slow=1', code: 0 };
