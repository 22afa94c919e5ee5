import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRedactor } from '@orangebox/codec';
import { segmentFileName, segmentHost } from '@orangebox/schema';
import { expect, it } from 'vitest';
import { semconvNames } from '../otel/gen-ai-attributes.ts';
import { recoverDirectory } from './recover-directory.ts';

const DEAD_PID = 4_194_305;

it('lets the program go on between series, also where in none of them anything is left to be done', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'obx-recover-'));
  try {
    const segments = join(dir, 'segments', '2026-11-30');
    mkdirSync(segments, { recursive: true });
    for (let i = 0; i < 50; i++) {
      const id = { host: segmentHost(hostname()), pid: DEAD_PID, threadId: 0, startUnixMs: 1000 + i, n: 0 };
      writeFileSync(join(segments, segmentFileName(id)), 'OBXSEG\r\n\x01\0\0\0');
    }
    let pauses = 0;
    const pause = async (): Promise<void> => void pauses++;
    const host = {
      dir,
      kind: 'start' as const,
      // Every slice is used up at once.
      pace: { sliceMs: 0, pause },
      spanContent: { captureContent: false, names: semconvNames([]) },
      redactor: () => createRedactor({ secrets: [], patterns: [] }),
      retryQuarantined: false,
    };
    expect((await recoverDirectory(host)).series).toBe(50);
    pauses = 0;
    expect((await recoverDirectory(host)).series).toBe(0);
    // Between the files of the listing, between marks, and between series.
    expect(pauses).toBeGreaterThanOrEqual(150);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
