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

/** All that a worker's listeners see. */
async function lifeOf(messages: unknown[]): Promise<unknown[]> {
  const seen: unknown[] = [];
  const worker = new Worker(echo, { eval: true, workerData: 'own' });
  worker.on('online', () => seen.push('online'));
  worker.on('message', (message) => {
    seen.push(message);
    if (messages.length > 0) worker.postMessage(messages.shift());
  });
  worker.on('error', ({ message }) => seen.push(['error', message]));
  const [code] = (await new Promise((resolve) => worker.on('exit', (...args) => resolve(args)))) as [number];
  return [...seen, ['exit', code], Object.keys(worker).sort()];
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
      const expected = without.slice(0, -2).map((one) => {
        if (one === 'online') return 'online 0';
        return Array.isArray(one) ? 'error 0' : 'message 0';
      });
      expect(came).toEqual([...expected, 'exit 0']);
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
    expect(kinds).toEqual(['online 0', 'message 0', 'message 0', 'exit 0']);
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
    expect(await lifeOf(['end'])).toContain('last words');
    expect(came).toEqual([]);
  });
});
