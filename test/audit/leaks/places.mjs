/** Files, sockets and processes where nothing of ours should be. */
const SECRET = 'process.env.PLANTED_API_KEY';
const recorder = (anchor, replacement) => [{ package: '@orangebox/recorder', anchor, replacement }];
const start = (code) =>
  recorder('function createRecorder(options = {}) {', `function createRecorder(options = {}) { ${code}`);

export const leaks = [
  {
    name: 'a file in the temporary directory',
    finds: 'file',
    mentions: /outside the directory/,
    patches: start(
      'require("node:fs").writeFileSync(require("node:path").join(require("node:os").tmpdir(), `obx-leak-${process.pid}`), "x"); require("node:fs").rmSync(require("node:path").join(require("node:os").tmpdir(), `obx-leak-${process.pid}`));',
    ),
  },
  {
    name: 'segments that others may read',
    finds: 'file',
    mentions: /mode 644/,
    patches: recorder(
      'return this.#fs.openSync(this.#path, flags, 384);',
      'return this.#fs.openSync(this.#path, flags, 420);',
    ),
  },
  {
    name: 'a link that is followed',
    finds: 'file',
    mentions: /was followed/,
    patches: recorder('if (!stat.isDirectory()) throw new UnsafeDirectoryError(`${path} is not a directory`);', ''),
  },
  {
    name: 'value in the name of a file',
    finds: 'leak',
    mentions: /the name of/,
    patches: start(
      `const fs = require("node:fs"); fs.mkdirSync(process.env.ORANGEBOX_DIR, { recursive: true, mode: 0o700 }); fs.writeFileSync(process.env.ORANGEBOX_DIR + "/" + Buffer.from(${SECRET}).toString("base64url"), "", { mode: 0o600 });`,
    ),
  },
  {
    name: 'a connection to another port',
    finds: 'socket',
    mentions: /a connection to 127\.0\.0\.1:9/,
    patches: start('require("node:net").connect(9, "127.0.0.1").on("error", () => {}).unref();'),
  },
  {
    name: 'a DNS query',
    finds: 'socket',
    mentions: /a name was looked up/,
    patches: start('require("node:dns").lookup("localhost", () => {});'),
  },
  {
    name: 'a datagram',
    finds: 'socket',
    mentions: /a datagram/,
    patches: start(
      'const beacon = require("node:dgram").createSocket("udp4"); beacon.unref(); beacon.send("x", 9, "127.0.0.1", () => beacon.close());',
    ),
  },
  {
    name: 'a child process',
    finds: 'process',
    mentions: /a child process/,
    patches: start('require("node:child_process").spawnSync(process.execPath, ["--version"]);'),
  },
];
