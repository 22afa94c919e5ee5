/** Calls from a child process with another working directory. */
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('./call.mjs', import.meta.url));
const { stdout } = spawnSync(process.execPath, [program, process.argv[2]], { cwd: tmpdir(), encoding: 'utf8' });
process.stdout.write(stdout);
