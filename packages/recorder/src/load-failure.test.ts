import { expect, it, vi } from 'vitest';
import { play, testRecorder } from './testing/scripted-exchange.ts';

vi.mock('./load-finisher.ts', () => ({
  // The test help loads it once beforehand.
  loadFinisher: vi.fn().mockResolvedValueOnce(undefined).mockRejectedValue(new Error('a file is missing')),
  loadFinisherNow: () => undefined,
}));

it('lets ended calls go where the rest of the recorder can not be loaded, and keeps what was written', async () => {
  const box = testRecorder();
  try {
    play(box.recorder);
    expect(box.recorder.stats().heldBytes).toBeGreaterThan(0);
    await vi.waitFor(() => expect(box.recorder.stats()).toMatchObject({ open: 0, heldBytes: 0 }));
    expect(box.recorder.stats().faults).toMatchObject({ load: 1 });
    play(box.recorder);
    await vi.waitFor(() => expect(box.recorder.stats()).toMatchObject({ calls: 2, open: 0, heldBytes: 0 }));
    const records = box.finish();
    expect(records.calls).toEqual([]);
    expect(records.open).toHaveLength(2);
    expect(box.warnings).toEqual([expect.stringContaining('a file is missing')]);
  } finally {
    box.dispose();
  }
});
