/** A program that listens for everything that its end tells it. Argument: how it ends. */
const [how] = process.argv.slice(2);
const url = `${process.env.OPENAI_BASE_URL}/chat/completions`;
const body = JSON.stringify({ model: 'gpt-test', messages: [{ role: 'user', content: 'hello' }] });
const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-test' };
const ask = async () => (await fetch(url, { method: 'POST', headers, body })).text();

let before = 0;
process.on('exit', (code) => console.log('exit', code, process.exitCode));
process.on('beforeExit', (code) => {
  before += 1;
  console.log('beforeExit', code, before);
  // Work of the last minute, once: the event is emitted again after it.
  if (how === 'natural' && before === 1) void ask().then((text) => console.log('last', text.length));
});
console.log((await ask()).length);
if (how === 'exit') process.exit(5);
if (how === 'exitCode') process.exitCode = 6;
if (how === 'listened')
  process.on('SIGTERM', (signal) => {
    console.log('got', signal, process.listenerCount('SIGTERM'));
    setImmediate(() => process.exit(9));
  });
if (how === 'signal' || how === 'listened') {
  setInterval(() => undefined, 60_000);
  process.kill(process.pid, 'SIGTERM');
}
if (how === 'throw') setTimeout(() => nothing.there, 1);
if (how === 'abort') process.abort();
