/** Removes a directory that a program worked in, whatever it did to the rights of what is in it. */
import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Removes it; false where it is still there. Never throws. */
export function removeTree(root: string): boolean {
  if (isRemoved(root)) return true;
  makeWritable(root);
  return isRemoved(root);
}

function isRemoved(root: string): boolean {
  try {
    rmSync(root, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}

/** Nothing can be removed from a directory that may not be written. Links are not followed. */
function makeWritable(path: string): void {
  try {
    if (!lstatSync(path).isDirectory()) return;
    chmodSync(path, 0o700);
    for (const { name } of readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
      makeWritable(join(path, name));
    }
  } catch {
    // Somebody else's; what can be removed is.
  }
}
