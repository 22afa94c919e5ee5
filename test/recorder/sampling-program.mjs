// Calls a provider as it is told, by fetch, and changes its level on the way. Prints what it saw.
import { execFileSync } from 'node:child_process';
import { level, setLevel } from 'orangebox';

const { TEST_PROVIDER_URL: provider, TEST_STEPS: steps = '[]', TEST_CLI: cli, ORANGEBOX_DIR: dir } = process.env;
const seen = [];

async function call(mark, path = '/v1/chat/completions') {
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: mark }] });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${provider}${path}`, { method: 'POST', headers, body });
  return [answer.status, await answer.text()];
}

for (const step of JSON.parse(steps)) {
  if (step.call) seen.push(await call(step.call, step.path));
  if (step.many) {
    let next = 0;
    const worker = async () => {
      while (next < step.many) await call(`mark-many-${next++}`);
    };
    await Promise.all(Array.from({ length: 8 }, worker));
  }
  if (step.open) {
    const answer = await fetch(`${provider}/v1/stream/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: step.open }] }),
    });
    const reader = answer.body.getReader();
    let got = '';
    while (!got.includes('[second]')) got += Buffer.from((await reader.read()).value).toString();
    // Another turn: what was read in this one is on record after it.
    await new Promise((resolve) => setImmediate(resolve));
    process.stdout.write('reading\n');
    setInterval(() => {}, 1000);
    await new Promise(() => {});
  }
  if (step.setLevel) setLevel(step.setLevel);
  if (step.fileLevel) {
    execFileSync(process.execPath, [cli, 'level', ...step.fileLevel, '--dir', dir], { stdio: 'ignore' });
    // It is looked at once a second.
    while (level() !== step.until) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
process.stdout.write(`${JSON.stringify(seen)}\n`);
