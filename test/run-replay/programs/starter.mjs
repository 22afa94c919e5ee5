/** Starts the program that asks, as `npm start` and others do. */
import { spawnSync } from 'node:child_process';

process.exitCode = spawnSync(process.execPath, ['set-up.mjs'], { stdio: 'pipe' }).status;
