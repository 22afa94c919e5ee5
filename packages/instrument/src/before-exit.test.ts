/** Emissions of `beforeExit` that the program sees, with what holds the loop given by the test. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { whenLoopIsEmpty } from './before-exit.ts';

let active: string[];
let seen: number;
let undo: () => void;
const program = (): void => {
  seen += 1;
};
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const turns = async (): Promise<void> => {
  for (let i = 0; i < 5; i += 1) await turn();
};

beforeEach(() => {
  active = ['PipeWrap'];
  seen = 0;
  vi.spyOn(process, 'getActiveResourcesInfo').mockImplementation(() => active);
  process.on('beforeExit', program);
});
afterEach(() => {
  undo();
  process.removeListener('beforeExit', program);
  vi.restoreAllMocks();
});

/** The work leaves `left` active, and is done once. */
function install(left: string[]): void {
  let isDone = false;
  undo = whenLoopIsEmpty(
    () => !isDone,
    () => {
      isDone = true;
      active = left;
      return Promise.resolve();
    },
  );
}

it('hides the emission that only the work causes, and no other', async () => {
  install(['PipeWrap']);
  process.emit('beforeExit', 0);
  await turns();
  process.emit('beforeExit', 0);
  expect(seen).toBe(1);
  process.emit('beforeExit', 0);
  expect(seen).toBe(2);
});

it('hides it when a request of the thread pool outlasts the work', async () => {
  install(['PipeWrap', 'FSReqPromise']);
  process.emit('beforeExit', 0);
  await turns();
  active = ['PipeWrap'];
  await turns();
  process.emit('beforeExit', 0);
  expect(seen).toBe(1);
});

it('hides nothing when the program began something meanwhile', async () => {
  install(['PipeWrap', 'Timeout']);
  process.emit('beforeExit', 0);
  await turns();
  process.emit('beforeExit', 0);
  expect(seen).toBe(2);
});

it('works although a look of ours began in the turn after the emission', async () => {
  install(['PipeWrap']);
  process.emit('beforeExit', 0);
  process.nextTick(() => {
    active = ['PipeWrap', 'FSReqPromise'];
  });
  await turns();
  active = ['PipeWrap'];
  await turns();
  process.emit('beforeExit', 0);
  expect(seen).toBe(1);
});

it('leaves the emission to a listener that reads a file', async () => {
  install(['PipeWrap']);
  process.emit('beforeExit', 0);
  active = ['PipeWrap', 'FSReqPromise'];
  await turns();
  active = ['PipeWrap'];
  process.emit('beforeExit', 0);
  expect(seen).toBe(2);
});
