/** A program that stops its child by the number of the process, and asks after it. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import os from 'node:os';

const said = [];
const attempt = (name, work) => {
  try {
    said.push(`${name}: ${work()}`);
  } catch (error) {
    said.push(`${name}: ${error.code}`);
  }
};
const child = spawn('sleep', ['60']);
await new Promise((resolve) => child.once('spawn', resolve));
attempt('probe', () => process.kill(child.pid, 0));
attempt('stop', () => process.kill(child.pid, 'SIGTERM'));
said.push(String(await new Promise((resolve) => child.once('exit', (...end) => resolve(end)))));
attempt('late probe', () => process.kill(child.pid, 0));
attempt('own probe', () => process.kill(process.pid, 0));
attempt('no signal', () => process.kill(process.pid, 'SIGNOTHING'));
attempt('kill of an ended child', () => child.kill());
const heard = new Promise((resolve) => process.once('SIGUSR2', () => resolve('heard')));
attempt('own signal', () => process.kill(process.pid, 'SIGUSR2'));
said.push(await heard);
console.log(said.join('\n'));
// What a recording could have a program do: only in a replay.
const victim = Number(process.env.VICTIM);
if (victim > 0) {
  said.length = 0;
  attempt('kill', () => process.kill(victim, 'SIGTERM'));
  attempt('group', () => process.kill(-victim, 'SIGTERM'));
  attempt('probe', () => process.kill(victim, 0));
  attempt('raw', () => process._kill(victim, 15));
  attempt('own group', () => process.kill(0, 'SIGTERM'));
  attempt('everybody', () => process.kill(-1, 'SIGTERM'));
  attempt('priority', () => os.setPriority(victim, 19));
  attempt('debugger', () => process._debugProcess(victim));
  attempt('own priority', () => os.setPriority(process.pid, os.getPriority()));
  writeFileSync('said', said.join('\n'));
}
