import OpenAI from 'openai';
import agent from './agent.cjs';

await agent.run({ OpenAI });
