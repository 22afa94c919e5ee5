import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import type { Undo } from './ports.ts';
import { hookThreads } from './thread-hooks.ts';

let undo: Undo = () => {};
afterEach(() => undo());

const echo = `
  const { parentPort, workerData } = require('node:worker_threads');
  parentPort.postMessage('ready');
  parentPort.on('message', (message) => {
    parentPort.postMessage({ message, workerData });
    if (message === 'fail') throw new Error('as asked');
    if (message === 'end') { parentPort.postMessage('last words'); process.exit(7); }
  });
`;

/** All that a worker's listeners see; which of its two ports is read first is the platform's. */
async function lifeOf(answers: unknown[]): Promise<{ messages: unknown[]; told: unknown[]; members: string[] }> {
  const messages: unknown[] = [];
  const told: unknown[] = [];
  const worker = new Worker(echo, { eval: true, workerData: 'own' });
  worker.on('online', () => told.push('online'));
  worker.on('message', (message) => {
    messages.push(message);
    if (answers.length > 0) worker.postMessage(answers.shift());
  });
  worker.on('error', ({ message }) => told.push(['error', message]));
  const [code] = (await new Promise((resolve) => worker.on('exit', (...args) => resolve(args)))) as [number];
  return { messages, told: [...told, ['exit', code]], members: Object.keys(worker).sort() };
}

describe('what comes of other threads', () => {
  it.each([[['a', { b: 1 }, 'end']], [['a', 'fail']], [['end']]])(
    'is the same as without the hooks: %j',
    async (messages) => {
      const without = await lifeOf([...messages]);
      const came: string[] = [];
      undo = hookThreads({
        came(kind, worker, deliver) {
          came.push(`${kind} ${worker}`);
          deliver();
        },
      });
      expect(await lifeOf([...messages])).toEqual(without);
      const told = without.told.map((one) => (Array.isArray(one) ? `${one[0]} 0` : `${one} 0`));
      expect(came.filter((one) => one !== 'message 0')).toEqual(told);
      expect(came.filter((one) => one === 'message 0')).toHaveLength(without.messages.length);
      expect(came.at(-1)).toBe('exit 0');
    },
  );

  it('can be given later, with the ports that came with it, and what was sent before the end before the end', async () => {
    const held: (() => void)[] = [];
    const kinds: string[] = [];
    let last: () => void = () => {};
    const isOver = new Promise<void>((resolve) => {
      last = resolve;
    });
    undo = hookThreads({
      came(kind, worker, deliver) {
        kinds.push(`${kind} ${worker}`);
        held.push(deliver);
        if (kind === 'exit') last();
      },
    });
    const { port1, port2 } = new MessageChannel();
    const source = `
      const { parentPort, workerData } = require('node:worker_threads');
      parentPort.postMessage(workerData, [workerData]);
      parentPort.postMessage('last words');
    `;
    const worker = new Worker(source, { eval: true, workerData: port1, transferList: [port1] });
    const seen: unknown[] = [];
    worker.on('message', (message) => seen.push(message));
    await isOver;
    expect(seen).toEqual([]);
    expect(kinds.filter((kind) => kind === 'message 0')).toHaveLength(2);
    expect(kinds.at(-1)).toBe('exit 0');
    const exited = once(worker, 'exit');
    for (const deliver of held) deliver();
    expect(await exited).toEqual([0]);
    expect(seen).toHaveLength(2);
    const given = seen[0] as typeof port2;
    given.postMessage('through');
    expect(await once(port2, 'message')).toEqual(['through']);
    port2.close();
  });

  it('is left alone once the hooks are out', async () => {
    const came: string[] = [];
    undo = hookThreads({ came: (kind) => void came.push(kind) });
    undo();
    expect((await lifeOf(['end'])).messages).toContain('last words');
    expect(came).toEqual([]);
  });
});
