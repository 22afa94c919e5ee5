import { expect, it, vi } from 'vitest';
import { readConfig } from './config.ts';
import { LazyShipper } from './lazy-shipper.ts';
import type { ShipItem } from './shipper.ts';

vi.mock('./shipping/payload-shipper.ts', () => ({
  createShipper: () => {
    throw new Error('a file is missing');
  },
}));

it('holds no item where the payload exporter can not be loaded, and counts them', async () => {
  const told: string[] = [];
  const shipper = new LazyShipper(
    readConfig({}, () => {}),
    { acknowledged() {}, quarantined() {}, report: (_, message) => told.push(message) },
  );
  shipper.offer({} as ShipItem);
  expect(shipper.stats()).toMatchObject({ offered: 1, pending: 1, failed: 0 });
  await shipper.flush(100);
  shipper.offer({} as ShipItem);
  expect(shipper.stats()).toMatchObject({ offered: 2, pending: 0, failed: 2 });
  expect(told).toEqual([expect.stringContaining('a file is missing')]);
});
