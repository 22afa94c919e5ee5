/** Reads standard input in the way that its argument names. */
import { readFileSync, readSync } from 'node:fs';
import { createInterface } from 'node:readline';

const ways = {
  async lines() {
    let count = 0;
    for await (const line of createInterface({ input: process.stdin })) {
      console.log(`${(count += 1)}: ${line} ${Math.random()}`);
      if (count === 3) await new Promise((resolve) => setTimeout(resolve, 30));
    }
    console.log('end');
  },
  data() {
    process.stdin.on('data', (bytes) => console.log(bytes.length, Date.now()));
    process.stdin.on('end', () => console.log('end')).on('close', () => console.log('close'));
  },
  paused() {
    const { stdin } = process;
    stdin.once('data', (bytes) => {
      stdin.pause();
      console.log('first', String(bytes).trim());
      setTimeout(() => {
        console.log('goes on');
        stdin.on('data', (more) => console.log('more', String(more).trim(), stdin.isPaused())).resume();
      }, 150);
    });
    stdin.on('end', () => console.log('end'));
  },
  whole() {
    console.log(readFileSync(0, 'utf8').toUpperCase(), readFileSync(0).length);
  },
  pieces() {
    const bytes = Buffer.alloc(8);
    for (;;) {
      try {
        const size = readSync(0, bytes, 2, 5, null);
        if (size === 0) break;
        console.log(bytes.toString('utf8', 2, 2 + size).trim());
      } catch ({ code, message, errno, syscall }) {
        if (code !== 'EAGAIN') throw new Error(code);
        console.error(message, errno, syscall);
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
      }
    }
  },
  never() {
    console.log('done', process.stdin === undefined ? '' : process.argv.length);
  },
  nothing() {
    console.log('done');
  },
  raw() {
    const { stdin } = process;
    stdin.setRawMode(true);
    console.log(`raw ${stdin.isTTY} ${stdin.isRaw}`);
    stdin.on('data', (bytes) => {
      console.log('key', JSON.stringify(String(bytes)));
      if (String(bytes).includes('q')) stdin.setRawMode(false).pause();
    });
  },
};
await ways[process.argv[2]]();
