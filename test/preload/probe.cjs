/**
 * Loaded before the preload: notes every file that is opened to write and every socket, and writes the list to the
 * file named by TEST_PROBE_FILE when the process ends. A program's own list is subtracted by the test.
 */
const fs = require('node:fs');
const net = require('node:net');
const dgram = require('node:dgram');

const seen = [];
const writes = (flags) => (typeof flags === 'number' ? (flags & 3) !== 0 : /[wa+]/.test(flags ?? 'r'));

function note(object, name, describe) {
  const original = object[name];
  object[name] = function (...args) {
    const text = describe(args);
    if (text) seen.push(text);
    return original.apply(this, args);
  };
}

for (const name of ['openSync', 'open']) note(fs, name, ([path, flags]) => writes(flags) && `write ${path}`);
for (const name of ['writeFileSync', 'appendFileSync', 'mkdirSync', 'writeFile', 'mkdir']) {
  note(fs, name, ([path]) => typeof path !== 'number' && `write ${path}`);
}
note(fs.promises, 'open', ([path, flags]) => writes(flags) && `write ${path}`);
for (const name of ['writeFile', 'mkdir', 'appendFile']) note(fs.promises, name, ([path]) => `write ${path}`);
note(net.Socket.prototype, 'connect', () => 'socket');
note(net.Server.prototype, 'listen', () => 'listen');
note(dgram, 'createSocket', () => 'socket');

const { writeFileSync } = fs;
const file = process.env.TEST_PROBE_FILE;
process.on('exit', () => {
  writeFileSync(`${file}-${process.pid}`, JSON.stringify({ seen: seen.filter((s) => !s.includes(file)) }));
});
