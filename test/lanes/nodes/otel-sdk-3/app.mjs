import { createRequire } from 'node:module';
import { trace } from '@opentelemetry/api';
import OpenAI from 'openai';
import agent from '../../../preload/agent.cjs';

await agent.run({ OpenAI, trace, setUp: () => createRequire(import.meta.url)('./setup-sdk.cjs') });
