// Loaded before Orangebox or after it, as the command line has it: a program's own wrapper of `fetch`.
const original = globalThis.fetch;
globalThis.patchedFirst = { count: 0 };
globalThis.fetch = function fetch(...args) {
  globalThis.patchedFirst.count += 1;
  return Reflect.apply(original, this, args);
};
