// `openai` 4 sends through node-fetch, that is through node:http.
const { createRequire } = require('node:module');
const { join } = require('node:path');

const from = (program) => createRequire(join(__dirname, '../programs', program, 'package.json'));
const { trace } = from('otel-node')('@opentelemetry/api');
const OpenAI = from('openai-4')('openai');
const { run } = require('./agent.cjs');

run({ OpenAI, trace });
