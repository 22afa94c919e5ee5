/**
 * The program of the SDK part: sends every exchange that the SDK can send and writes one JSON line per exchange.
 * Arguments: base URL, folder, output file, path of the SDK's package, take every Nth exchange, most exchanges (0 for all).
 */
import { createWriteStream } from 'node:fs';
import { createRequire } from 'node:module';
import { loadCorpus } from './load.mjs';
import { callThroughSdk, sdkCallOf } from './sdk-call.mjs';

const [url = '', directory, output = '', from = '', every = '1', limit = '0'] = process.argv.slice(2);
const sdk = createRequire(from)('openai');
// Warnings of the SDK about odd streams are not what is compared.
console.error = () => undefined;

const calls = loadCorpus(directory || undefined)
  .map((exchange) => ({ exchange, call: sdkCallOf(exchange) }))
  .filter(({ call }) => call !== undefined && call.skip === undefined)
  .filter((_, i) => i % Number(every) === 0)
  .slice(0, Number(limit) > 0 ? Number(limit) : undefined);
const lines = createWriteStream(output);

async function worker() {
  for (let next = calls.shift(); next !== undefined; next = calls.shift()) {
    const result = await callThroughSdk(sdk, url, next.exchange, next.call);
    lines.write(`${JSON.stringify(result)}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, worker));
await new Promise((resolve) => lines.end(resolve));
