// Prometheus with `promtool`: whatever is on the PATH, else Debian's package, unpacked and not installed, so no service starts and
// nothing of the system changes.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Path of `prometheus` or `promtool`, or undefined where neither PATH nor cache has both. */
export function findPrometheus(cache, name) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), join(cache, 'prometheus-debian/usr/bin')];
  const folder = folders.find((f) => existsSync(join(f, 'prometheus')) && existsSync(join(f, 'promtool')));
  return folder && join(folder, name);
}

/** Fetches Debian's package and unpacks it into the cache. */
export async function unpackPrometheus(cache) {
  if (spawnSync('apt-get', ['--version']).status !== 0) {
    throw new Error('comes from a package of Debian or Ubuntu; elsewhere put prometheus and promtool on the PATH');
  }
  const folder = mkdtempSync(join(cache, '.prometheus-'));
  const download = () => spawnSync('apt-get', ['download', 'prometheus'], { cwd: folder, encoding: 'utf8' });
  try {
    let result = download();
    // A machine that is new has no lists yet, or old ones.
    if (result.status !== 0 && spawnSync('apt-get', ['update'], { stdio: 'ignore' }).status === 0) result = download();
    const file = readdirSync(folder).find((name) => name.endsWith('.deb'));
    if (result.status !== 0 || file === undefined) throw new Error(`apt-get download failed: ${result.stderr.trim()}`);
    execFileSync('dpkg-deb', ['-x', join(folder, file), join(folder, 'unpacked')]);
    renameSync(join(folder, 'unpacked'), join(cache, 'prometheus-debian'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
