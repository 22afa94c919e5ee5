/** One call through fetch and one through http, destructured at load. */
const { request } = require('http');

const url = `${process.argv[2]}/v1/chat/completions`;
const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"model":"m","messages":[]}' };

void (async () => {
  await (await fetch(url, init)).text();
  await new Promise((resolve, reject) => {
    const made = request(url, init, (response) => response.resume().on('end', resolve));
    made.on('error', reject).end(init.body);
  });
  console.log('done');
})();
