/** Puts the taps in place. */
import type { WireSink } from '@orangebox/recorder';
import { readInstrumentConfig } from './config.ts';
import { createFaults, type Faults } from './faults.ts';
import { installHttpTap } from './http-tap.ts';
import { installInbound } from './inbound.ts';
import { installRunReport } from './run-report.ts';
import { currentRuntime, RUNTIME, type Runtime, RuntimeHost } from './runtime.ts';
import { installUndiciTap } from './undici-tap.ts';

/** What the preload brings. */
export interface InstallOptions {
  /** Makes the receiver of everything; called once, at the first request that is recorded. May throw. */
  loadSink: () => WireSink;
  /** Defaults to `process.env`. */
  env?: { readonly [name: string]: string | undefined };
  /** Where warnings go; stderr by default. */
  faults?: Faults;
}

/**
 * Installs the runtime of this thread. A second call finds the first one's and changes nothing. With
 * `ORANGEBOX_LEVEL=off` the process is left untouched and the result is undefined. Never throws.
 */
export function installInstrumentation(options: InstallOptions): Runtime | undefined {
  const faults = options.faults ?? createFaults();
  try {
    const existing = currentRuntime();
    if (existing) return existing;
    const config = readInstrumentConfig(options.env ?? process.env, (line) => faults.warn(line));
    if (config.level === 'off') return undefined;
    const host = new RuntimeHost(config, faults, options.loadSink);
    Object.defineProperty(globalThis, RUNTIME, { value: host, configurable: true });
    const fault = host.fault.bind(host);
    if (config.runReport !== undefined) host.onUninstall(installRunReport(config.runReport, host, fault));
    host.onUninstall(installInbound(fault));
    host.onUninstall(installUndiciTap(host));
    host.onUninstall(installHttpTap(host));
    return host;
  } catch (error) {
    faults.note('starting', error);
    return undefined;
  }
}
