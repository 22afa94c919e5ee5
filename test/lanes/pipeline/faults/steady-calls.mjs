/**
 * A program that calls its model steadily, whatever happens elsewhere. Arguments: base URL, JSON of
 * `{perSecond, promptBytes, largeEvery, largeBytes}`. Lines on its input: `phase NAME` names what comes next, `stop` ends the calls and
 * has their times printed. It lives until its input ends, as a service would, so that what waits to be sent is sent.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';

const [url = '', settings = '{}'] = process.argv.slice(2);
const { perSecond, promptBytes, largeEvery, largeBytes } = JSON.parse(settings);
/** Calls under way; a provider that hangs must not make them pile up. */
const AT_ONCE = 32;

const phases = new Map();
const answers = [];
let phase = 'before';
let underWay = 0;
let started = 0;
let failed = 0;
let whenIdle = () => undefined;

async function call() {
  underWay += 1;
  started += 1;
  const bytes = largeEvery > 0 && started % largeEvery === 0 ? largeBytes : promptBytes;
  const isLarge = bytes === largeBytes;
  const content = randomBytes(Math.ceil((bytes * 3) / 4)).toString('base64');
  const ofPhase = phase;
  const startMs = performance.now();
  try {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-drill-0123456789' },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content }] }),
    });
    const body = Buffer.from(await answer.arrayBuffer());
    // Times of large ones are another population.
    if (!isLarge) phases.set(ofPhase, [...(phases.get(ofPhase) ?? []), performance.now() - startMs]);
    if (answer.status !== 200) failed += 1;
    answers.push(createHash('sha256').update(body).digest('hex'));
  } catch {
    failed += 1;
  }
  underWay -= 1;
  if (underWay === 0) whenIdle();
}

const timer = setInterval(() => {
  if (underWay < AT_ONCE) void call();
}, 1000 / perSecond);

function summary() {
  const times = {};
  for (const [name, list] of phases) {
    list.sort((a, b) => a - b);
    const at = (share) => list[Math.min(list.length - 1, Math.floor(list.length * share))];
    times[name] = { calls: list.length, p50: at(0.5), p95: at(0.95) };
  }
  const sha256 = createHash('sha256').update(answers.sort().join('\n')).digest('hex');
  return { calls: started, failed, times, sha256 };
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.startsWith('phase ')) phase = line.slice('phase '.length);
  if (line === 'stop') {
    clearInterval(timer);
    if (underWay > 0) await new Promise((resolve) => (whenIdle = resolve));
    process.stdout.write(`${JSON.stringify(summary())}\n`);
  }
}
