/** Public names of @orangebox/instrument. */
export { agent, level, session, type SessionOptions, setLevel, step, suppress, tool } from './api.ts';
export { type InstrumentConfig, readInstrumentConfig } from './config.ts';
export { createFaults, type FaultCounts, type Faults } from './faults.ts';
export { type InstallOptions, installInstrumentation } from './install.ts';
export type { RunKit, StartRun } from './run-kit.ts';
export type { RunReport } from './run-report.ts';
export { currentRuntime, RUNTIME, type Runtime } from './runtime.ts';
export { createUrlFilter, type UrlFilter } from './url-filter.ts';
