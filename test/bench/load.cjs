// How long loading the preload takes, seen from within.
const startMs = performance.now();
require(process.argv[2]);
console.log(performance.now() - startMs);
