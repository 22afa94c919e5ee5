/** Replaces one function of the platform by one that throws, makes a call, and prints what came of it. */
import { createServer } from 'node:http';

const [place = '', name = ''] = process.argv.slice(2);
const ANSWER = '{"object":"chat.completion","model":"m","choices":[{"index":0,"message":{"content":"hello"}}]}';
const server = createServer((request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(ANSWER));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const call = async () => {
  const response = await fetch(`http://127.0.0.1:${server.address().port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"model":"m","messages":[{"role":"user","content":"hi"}]}',
  });
  return (await response.text()).length;
};
const objects = {
  performance,
  process,
  Set: Set.prototype,
  Map: Map.prototype,
  Object,
  Array: Array.prototype,
  JSON,
  Date,
  Buffer,
  String: String.prototype,
  crypto,
  ObjectPrototype: Object.prototype,
  Number,
  Uint8Array: Object.getPrototypeOf(Uint8Array.prototype),
  WeakMap: WeakMap.prototype,
  Promise: Promise.prototype,
  RegExp: RegExp.prototype,
  globalThis,
};
const object = objects[place];
const before = Object.getOwnPropertyDescriptor(object, name);
const outcome = { place, name };
Object.defineProperty(object, name, {
  configurable: true,
  writable: true,
  value:
    name === 'performance'
      ? undefined
      : function () {
          throw new Error(`${name} is not there`);
        },
});
let error;
let size;
try {
  size = await call();
} catch (thrown) {
  error = thrown;
}
if (before) Object.defineProperty(object, name, before);
else delete object[name];
outcome.size = size;
outcome.error = error && String(error.cause ?? error);
outcome.after = await call();
console.log(JSON.stringify(outcome));
server.close();
