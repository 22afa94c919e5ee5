/** A sample of `npm run drill:long`, which makes a million calls. */
import { expect, it } from 'vitest';
import { runLong } from './long-run/watched-run.mjs';

it('calls at full speed, more per turn than one, leave no bytes, handles or files beyond the bounds', async () => {
  const { points, end, wrong } = await runLong({ calls: 1200, every: 300, dirBytes: 2 * 2 ** 20 });
  expect(wrong).toEqual([]);
  expect(points.map(({ calls }) => calls)).toEqual([300, 600, 900, 1200]);
  expect(end).toMatchObject({ calls: 1200, open: 0 });
});
