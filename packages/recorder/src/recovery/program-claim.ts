/** The claim of a program that ships its own calls: a sidecar leaves such a series alone for as long as the program lives. */
import { utimesSync } from 'node:fs';
import { afterMs, nowMs } from '../timers.ts';
import { prepareClaims, programClaimPath, takeClaim, TOUCH_MS } from './claims.ts';

/** Writes the claim and touches it from then on, without an open file. @throws the file system's error */
export function claimForProgram(dir: string, series: string): void {
  prepareClaims(dir);
  const path = programClaimPath(dir, series);
  takeClaim(path, 'program')?.keep();
  const touchLater = (): void => {
    afterMs(TOUCH_MS, () => {
      try {
        const now = new Date(nowMs());
        utimesSync(path, now, now);
        touchLater();
      } catch {
        // Somebody removed the directory: there is nothing left to claim.
      }
    }).unref();
  };
  touchLater();
}
