/** Puts the taps in place. */
import type { WireSink } from '@orangebox/recorder';
import { type InstrumentConfig, readInstrumentConfig } from './config.ts';
import { createFaults, type Faults } from './faults.ts';
import { installHttpTap } from './http-tap.ts';
import { installInbound } from './inbound.ts';
import { installRunReport } from './run-report.ts';
import { currentRuntime, RUNTIME, type Runtime, RuntimeHost } from './runtime.ts';
import { markTurns, nextDelivery, nextSeq } from './clock.ts';
import type { StartRun } from './run-kit.ts';
import { installUndiciTap } from './undici-tap.ts';

/** What the preload brings. */
export interface InstallOptions {
  /** Makes the receiver of everything; called once, at the first request that is recorded. May throw. */
  loadSink: (mode: InstrumentConfig['mode']) => WireSink;
  /** Loads what a run needs besides; called where the mode is `run`. May throw. */
  loadRun?: () => StartRun;
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
    const host = new RuntimeHost(config, faults, () => options.loadSink(config.mode));
    Object.defineProperty(globalThis, RUNTIME, { value: host, configurable: true });
    const fault = host.fault.bind(host);
    if (config.runReport !== undefined) host.onUninstall(installRunReport(config.runReport, host, fault));
    host.onUninstall(installInbound(fault));
    host.onUninstall(installUndiciTap(host));
    host.onUninstall(installHttpTap(host));
    if (host.isRun && options.loadRun) beginRun(host, config, options.loadRun());
    return host;
  } catch (error) {
    faults.note('starting', error);
    return undefined;
  }
}

/** Puts the rest of run mode in place, of which nothing is loaded in any other. */
function beginRun(host: RuntimeHost, config: InstrumentConfig, start: StartRun): void {
  markTurns();
  host.begin();
  const undo = start({
    nextDelivery,
    nextSeq,
    record: (record) => host.record(record),
    holdsSecret: (bytes) => host.holdsSecret(bytes),
    useTools: (port) => {
      host.tools = port;
    },
    whenDying: (work) => {
      host.onDying = work;
    },
    flush: () => host.flushSinkSync(0),
    fault: (place, error) => host.fault(place, error),
    warn: (message) => host.warn(message),
    isClaimed: (socket) => host.claimed.has(socket),
    isUnreached: (peer) => host.unreached.has(peer),
    isOwn: () => host.suppressed(),
    config,
  });
  host.onUninstall(undo);
}
