/** The redactor is not asked, or not in time. */
const recorder = (anchor, replacement) => [{ package: '@orangebox/recorder', anchor, replacement }];

export const leaks = [
  {
    name: 'request headers raw',
    finds: 'leak',
    mentions: /request header authorization/,
    patches: recorder('this.#redactor.headers(headers, "request")', '({ headers, redactions: [] })'),
  },
  {
    name: 'answer headers raw',
    finds: 'leak',
    mentions: /answer header set-cookie/,
    patches: recorder(
      'this.#redactor.headers(head.headers, "response")',
      '({ headers: head.headers, redactions: [] })',
    ),
  },
  {
    name: 'URL raw',
    finds: 'leak',
    mentions: /URL parameter/,
    patches: recorder('const url = redactor.url(start.url);', 'const url = { url: start.url, redactions: [] };'),
  },
  {
    name: 'chunks searched one by one',
    finds: 'leak',
    mentions: /environment variable/,
    patches: recorder(
      'redactor: () => this.#redactor.body(),',
      `redactor: () => ({
        redactions: [],
        push: (bytes) => { const one = this.#redactor.body(); return [...one.push(bytes), ...one.end()]; },
        end: () => [],
      }),`,
    ),
  },
  {
    name: 'compressed answers not searched',
    finds: 'leak',
    mentions: /\(gzip\)|\(br\)/,
    patches: recorder(/const codings = [\w.]*bodyCodings\(head\.headers\);/, 'const codings = [];'),
  },
  {
    name: 'environment not known',
    finds: 'leak',
    mentions: /environment variable/,
    patches: recorder('function secretsOfEnvironment(env) {', 'function secretsOfEnvironment(env) { return [];'),
  },
  {
    name: 'credentials that went by forgotten',
    finds: 'leak',
    mentions: /request header/,
    patches: recorder('for (const value of redacted.credentials ?? [])', 'for (const value of [])'),
  },
  {
    name: 'session metadata raw',
    finds: 'leak',
    mentions: /environment variable/,
    patches: recorder(
      'copied && redactJson(copied, redactor, "metadata")',
      'copied && { value: copied, redactions: [] }',
    ),
  },
  {
    name: 'error texts raw',
    finds: 'leak',
    mentions: /environment variable|URL that nobody answers/,
    patches: recorder(
      'const result = redactor.text(text.slice(0, 4 * MAX_MESSAGE_CHARS));',
      'const result = { text, redactions: [] };',
    ),
  },
  {
    name: 'tool arguments and results raw',
    finds: 'leak',
    mentions: /environment variable/,
    patches: recorder(
      'const result = redactor.text(text.slice(0, MAX_TEXT_CHARS));',
      'const result = { text, redactions: [] };',
    ),
  },
  {
    name: 'reason of a status raw',
    finds: 'leak',
    mentions: /environment variable/,
    patches: recorder(
      'this.#redactor.text(head.statusText, "response.status")',
      '({ text: head.statusText, redactions: [] })',
    ),
  },
];
