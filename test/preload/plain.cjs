const OpenAI = require('openai');
const { run } = require('./agent.cjs');

run({ OpenAI });
