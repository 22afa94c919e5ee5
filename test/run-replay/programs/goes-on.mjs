// Goes on each time it would have ended, twice; then ends.
import { setTimeout as pause } from 'node:timers/promises';

const client = `${process.env.OPENAI_BASE_URL}/models`;
let times = 0;
process.on('beforeExit', async (code) => {
  console.log('would end', code, times);
  if (times++ === 2) return;
  await pause(5);
  const answer = await fetch(client, { headers: { authorization: `Bearer ${process.env.OPENAI_API_KEY}` } });
  console.log('goes on', answer.status, Date.now() > 0);
});
process.on('exit', (code) => console.log('ends', code));
console.log('begins');
