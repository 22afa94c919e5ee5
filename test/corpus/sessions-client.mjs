/**
 * The program under the preload: sends the recorded multi-call sessions call by call, as an agent loop does, `width` sessions at a
 * time. Arguments: base URL, width, folder.
 */
import { requestOf } from './exchange.mjs';
import { loadCorpus } from './load.mjs';
import { expectedSessions, unmaskIds } from './sessions.mjs';

const [url = '', width = '1', directory] = process.argv.slice(2);
const waiting = expectedSessions(loadCorpus(directory || undefined));
unmaskIds(waiting);
let sent = 0;

async function worker() {
  for (let session = waiting.shift(); session !== undefined; session = waiting.shift()) {
    for (const call of session.calls) {
      const { method, path, headers, body } = requestOf(call);
      const answer = await fetch(url + path, { method, headers, body });
      await answer.arrayBuffer();
      sent += 1;
    }
  }
}

await Promise.all(Array.from({ length: Number(width) }, worker));
console.log(JSON.stringify({ sent }));
