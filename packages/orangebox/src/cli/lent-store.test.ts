import { createMemoryStore, type SnapshotStore } from '@orangebox/store';
import { expect, it } from 'vitest';
import { LentStore, lendBeside } from './lent-store.ts';

/** A store that tells when it is closed. */
function store(closed: string[], name: string): SnapshotStore {
  const made = createMemoryStore(name);
  made.close = async () => void closed.push(name);
  return made;
}

it('opens a store anew when it is old, and closes the old one after its last work', async () => {
  const closed: string[] = [];
  let count = 0;
  const lent = new LentStore(async () => store(closed, `store ${++count}`), -1);
  await lent.lend(async (old) => {
    await lent.lend(async (fresh) => expect([old.location, fresh.location]).toEqual(['store 1', 'store 2']));
    expect(closed).toEqual([]);
  });
  expect(closed).toEqual(['store 1']);
  await lent.close();
  expect(closed).toEqual(['store 1', 'store 2']);
});

it('keeps the store open that it is lent beside: a file was opened once', async () => {
  const closed: string[] = [];
  const lend = lendBeside(store(closed, 'file'), new LentStore(async () => store(closed, 'lent'), -1));
  for (const _ of [1, 2, 3]) await lend(async ({ location }) => expect(location).toBe('file and lent'));
  expect(closed).toEqual(['lent', 'lent']);
});
