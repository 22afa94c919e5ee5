/** Starters of real servers on free ports, for tests and drills. */
export { startArchiver } from './archiver.ts';
export { binaryOf } from './binary.ts';
export { type CollectorServer, startCollector, validateConfig } from './collector.ts';
export { type JaegerServer, startJaeger } from './jaeger.ts';
export { freePort, freePorts } from './ports.ts';
export { cleanEnvironment, type Environment, type RunningServer } from './process.ts';
export { startPrometheus } from './prometheus.ts';
export { startWeed, type WeedOptions, type WeedServer } from './weed.ts';
