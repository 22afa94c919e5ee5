/** A program that leaves a file where it ran. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

writeFileSync('ran', '');
console.log(execFileSync('echo', ['recorded'], { encoding: 'utf8' }));
