/** Closes every way out of a replayed process. They stay closed for its life. */
import { syncBuiltinESMExports } from 'node:module';
import { refuseAtBindings } from './refused-bindings.ts';
import { refuseExecve } from './refused-execve.ts';
import { refuseInternals } from './refused-internals.ts';
import { refuseNames } from './refused-names.ts';
import { type NetworkHost, refuseNetwork } from './refused-network.ts';
import { refuseSignals, type SignalHost } from './refused-signals.ts';

/** Who decides, and is told. */
export type SealHost = NetworkHost & SignalHost;

/** Closes them, for ES modules too: those that a program knows, which can say what was asked for, and those behind them. */
export function sealProcess(host: SealHost): void {
  // Takes what the next one gives to nobody.
  refuseAtBindings(host);
  refuseInternals(host);
  refuseNetwork(host);
  refuseNames(host);
  refuseExecve(host);
  refuseSignals(host);
  syncBuiltinESMExports();
}
