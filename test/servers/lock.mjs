// One builder at a time, across processes.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

/** Runs `work` while nobody else holds the lock file; says `waiting` once where it has to wait. A dead holder's lock is taken. */
export async function withLock(file, waiting, work) {
  for (let tries = 0; !take(file); tries++) {
    if (tries === 0) console.log(waiting);
    await wait(500);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  if (!holderLives(file)) rmSync(file, { force: true });
  return false;
}

function holderLives(file) {
  try {
    // Empty between its creation and its first byte: somebody has just taken it.
    const pid = Number(readFileSync(file, 'utf8'));
    return pid === 0 || process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}
