/** Puts a clock and timers of its own in place, as test libraries do, and makes calls under them; gets SIGTERM at the end. */
import { createServer } from 'node:http';

const ANSWER = '{"object":"chat.completion","model":"m","choices":[{"index":0,"message":{"content":"hello"}}]}';
const server = createServer((request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(ANSWER));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

const real = globalThis.setTimeout;
const never = () => 1;
/** The platform's own client asks for a method of it from Node.js 24 on. */
const neverObject = () => ({ unref() {}, refresh() {} });
Object.assign(globalThis, {
  setTimeout: process.versions.node < '24' ? never : neverObject,
  setImmediate: never,
  clearTimeout: never,
  clearImmediate: never,
});
globalThis.Date = class extends Date {
  static now() {
    return Number.NaN;
  }
};
process.on('SIGTERM', () => {
  console.log('ended');
  process.exit(0);
});
for (let i = 0; i < 3; i++) {
  const response = await fetch(`http://127.0.0.1:${server.address().port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"model":"m","messages":[]}',
  });
  await response.text();
}
await new Promise((resolve) => real(resolve, 300));
process.kill(process.pid, 'SIGTERM');
await new Promise((resolve) => real(resolve, 2000));
