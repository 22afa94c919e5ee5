/** A program whose timers are numbers, as those of browsers and of what imitates them, and whose clock stands still. */
const { setInterval: every, clearInterval: stop } = globalThis;
const timers = new Map();
globalThis.setInterval = (...args) => {
  const number = timers.size + 1;
  timers.set(number, every(...args));
  return number;
};
globalThis.clearInterval = (number) => stop(timers.get(number));
const now = Date.now();
Date.now = () => now;

async function main() {
  const body = (content) => JSON.stringify({ model: 'orange-1', messages: [{ role: 'user', content }] });
  const headers = { 'content-type': 'application/json' };
  const ask = async (content) => {
    const answer = await fetch(`${process.argv[2]}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: body(content),
    });
    await answer.text();
  };
  await ask('first');
  // As dotenv does, later than the first look at the environment.
  process.env.LATE_SECRET = 'planted-late-0123456789abcdef';
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await ask(`second, with ${process.env.LATE_SECRET}`);
  await new Promise((resolve) => setTimeout(resolve, 400));
  console.log('done', timers.size);
}
main();
