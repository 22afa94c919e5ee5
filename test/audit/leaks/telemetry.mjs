/** What is sent or said holds a value of the environment. */
const SECRET = 'process.env.PLANTED_API_KEY';
const base64 = `Buffer.from(${SECRET} ?? "").toString("base64")`;
const recorder = (anchor, replacement) => [{ package: '@orangebox/recorder', anchor, replacement }];
const spans = (value) => recorder('to.add(span)', `(span.attributes["app.note"] = ${value}, to.add(span))`);
const start = (code) =>
  recorder('function createRecorder(options = {}) {', `function createRecorder(options = {}) { ${code}`);

export const leaks = [
  { name: 'value on a span', finds: 'leak', mentions: /environment variable/, patches: spans(SECRET) },
  { name: 'base64 of a value on a span', finds: 'leak', mentions: /base64/, patches: spans(`"x" + ${base64}`) },
  {
    name: 'gzip of a value on a span',
    finds: 'leak',
    mentions: /gzip/,
    patches: spans(`require("node:zlib").gzipSync(${SECRET} + "x".repeat(60)).toString("base64")`),
  },
  {
    name: 'value in a metric attribute',
    finds: 'leak',
    mentions: /v1\/metrics/,
    patches: recorder(
      'duration.record(call.duration, shared,',
      `duration.record(call.duration, { ...shared, note: ${SECRET} },`,
    ),
  },
  {
    name: 'value in the User-Agent',
    finds: 'leak',
    mentions: /the head of request/,
    patches: recorder('"user-agent": `orangebox/', `"user-agent": encodeURIComponent(${SECRET}) + \`orangebox/`),
  },
  {
    name: 'value in the object key',
    finds: 'leak',
    mentions: /environment variable/,
    patches: recorder(
      'snapshotKey, item.key)',
      `snapshotKey, item.key + "/" + Buffer.from(${SECRET}).toString("hex"))`,
    ),
  },
  {
    name: 'value in log text',
    finds: 'leak',
    mentions: /standard error/,
    patches: start(`process.stderr.write("orangebox: starting with " + ${SECRET} + "\\n");`),
  },
  {
    name: 'value split over two records',
    finds: 'leak',
    mentions: /a piece/,
    patches: recorder(
      /(const first = \[start[^;]*;)/,
      `$1 for (const [i, half] of [${SECRET}.slice(0, 18), ${SECRET}.slice(18)].entries()) first.push({ type: "dropped", reason: "half" + i, count: 1, message: half });`,
    ),
  },
];
