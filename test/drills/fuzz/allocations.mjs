/** Notes the largest piece of memory that is asked for: a length that the input only claims must never become one. */

let largestBytes = 0;
const note = (size) => {
  if (typeof size === 'number' && size > largestBytes) largestBytes = size;
};

/** Puts itself before what allocates bytes, in this thread; returns the undo. */
export function watchAllocations() {
  const undo = [];
  const wrap = (holder, name, handler) => {
    const original = holder[name];
    holder[name] = new Proxy(original, handler);
    undo.push(() => {
      holder[name] = original;
    });
  };
  const construct = {
    construct(target, args, as) {
      note(args[0]);
      return Reflect.construct(target, args, as);
    },
  };
  const call = {
    apply(target, self, args) {
      note(args[0]);
      return Reflect.apply(target, self, args);
    },
  };
  for (const name of ['Uint8Array', 'ArrayBuffer', 'Array', 'Float64Array', 'Uint32Array'])
    wrap(globalThis, name, construct);
  for (const name of ['alloc', 'allocUnsafe', 'allocUnsafeSlow']) wrap(Buffer, name, call);
  const { repeat } = String.prototype;
  // biome-ignore lint/suspicious/noExtendNative: taken back by the undo
  String.prototype.repeat = function (count) {
    note(this.length * count);
    return repeat.call(this, count);
  };
  undo.push(() => {
    String.prototype.repeat = repeat;
  });
  return () => {
    for (const back of undo) back();
  };
}

/** The largest since the last time this was asked. */
export function takeLargestBytes() {
  const taken = largestBytes;
  largestBytes = 0;
  return taken;
}
