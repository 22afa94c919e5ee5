const { trace } = require('@opentelemetry/api');
const OpenAI = require('openai');
const { run } = require('../../../preload/agent.cjs');

run({ OpenAI, trace, setUp: () => require('./setup-sdk.cjs') });
