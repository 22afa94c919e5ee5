/** The program's own surroundings are changed. */
const register = (code) => [
  {
    package: 'orangebox',
    anchor: 'function installInstrumentation(options) {',
    replacement: `function installInstrumentation(options) { ${code}`,
  },
];

export const leaks = [
  {
    name: 'fetch replaced',
    finds: 'patch',
    mentions: /globalThis\.fetch/,
    patches: register('const own = globalThis.fetch; globalThis.fetch = (...args) => own(...args);'),
  },
  {
    name: 'Promise.prototype.then replaced',
    finds: 'patch',
    mentions: /Promise\.prototype\.then/,
    patches: register(
      'const then = Promise.prototype.then; Promise.prototype.then = function (...args) { return Reflect.apply(then, this, args); };',
    ),
  },
  {
    name: 'a listener left',
    finds: 'listener',
    mentions: /unhandledRejection/,
    patches: register('process.on("unhandledRejection", (reason) => { throw reason; });'),
  },
];
