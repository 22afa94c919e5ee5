// A request that fails at once, and a program that exits before anything was loaded beside it.
const { createRecorder } = require('@orangebox/recorder');

const recorder = createRecorder();
const exchange = recorder.open({
  kind: 'llm',
  client: 'http',
  method: 'POST',
  url: 'http://127.0.0.1:9/v1/chat/completions',
  startUnixNano: 1_800_000_000_000_000_000n,
  context: { scope: [], place: undefined },
});
exchange.requestHead([['content-type', 'application/json']], []);
exchange.requestChunk(Buffer.from('{"model":"gpt-test","messages":[{"role":"user","content":"hi"}]}'), 1);
exchange.requestEnd(2);
exchange.end({ ending: 'reset', stage: 'response_head' }, 3);
process.on('exit', () => {
  recorder.flushSync('process_exit');
  console.log(JSON.stringify(recorder.stats()));
});
process.exit(0);
