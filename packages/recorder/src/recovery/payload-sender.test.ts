import { expect, it } from 'vitest';
import { startOtlpReceiver } from '../../../../test/helpers/otlp-receiver.mjs';
import { createShipper } from '../shipping/payload-shipper.ts';
import type { ShipItem } from '../shipper.ts';
import { ShippingSender } from './payload-sender.ts';

const DIGEST = 'd'.repeat(64);
const item = (spanId: string, more: Partial<ShipItem> = {}): ShipItem => ({
  key: `v1/20260102/${'a'.repeat(32)}/${spanId}/${DIGEST.slice(0, 16)}`,
  digest: DIGEST,
  traceId: 'a'.repeat(32),
  spanId,
  spanHead: {},
  sizeBytes: 2,
  readSnapshotJson: () => Buffer.from('{}'),
  ...more,
});

it('settles whatever becomes of a payload: what the shipper gives up would be waited for without end', async () => {
  const receiver = await startOtlpReceiver();
  try {
    const codes: string[] = [];
    const sender = new ShippingSender(
      (host) => createShipper({ endpoint: receiver.url, endpointHeaders: {}, serviceName: 'own' }, host),
      (code) => void codes.push(code),
      { stopsAtTrouble: true },
    );
    const sent = sender.send(item('1'.repeat(16), { serviceName: 'theirs' }));
    const otherDigest = sender.send(item('2'.repeat(16), { digest: 'e'.repeat(64) }));
    const unreadable = sender.send(item('3'.repeat(16), { readSnapshotJson: () => Promise.reject(new Error('gone')) }));
    expect(await Promise.all([sent, otherDigest, unreadable])).toEqual([
      { kind: 'sent' },
      { kind: 'lost' },
      { kind: 'lost' },
    ]);
    expect(codes.sort()).toEqual(['payload_key', 'payload_lost']);
    const [request] = receiver.requests;
    expect(request?.spans.map(({ resource }) => resource['service.name'])).toEqual(['theirs']);
    sender.stop();
    expect(await sender.send(item('4'.repeat(16)))).toEqual({ kind: 'left' });
  } finally {
    await receiver.close();
  }
});
