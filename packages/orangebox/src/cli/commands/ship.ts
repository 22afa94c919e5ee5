/** `orangebox ship [DIR]`: beside a service on a shared volume, until it is told to stop. */
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { FollowCounts, RecoveryCounts, SweptCounts } from '@orangebox/recorder/recovery';
import { SEGMENTS_DIRECTORY } from '@orangebox/schema';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { isDirectory } from '../locate.ts';
import { usage } from '../parse-options.ts';
import { stopSignal } from '../stop-signal.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { plural } from '../text/format.ts';
import { recordingsIn, shippingConfig, sweptLine } from './recover.ts';

/** Options of `ship`. */
export interface ShipOptions {
  endpoint?: string;
  once?: boolean;
  json?: boolean;
}

/** SIGTERM and SIGINT let it finish what is under way, for at most ten seconds. Exit code 7 when `--once` left something. */
export async function ship(
  context: CommandContext,
  directory: string | undefined,
  options: ShipOptions,
): Promise<number> {
  const config = shippingConfig(context, options.endpoint);
  if (config.endpoint === undefined)
    throw usage('no endpoint is set, so there is nowhere to ship to', 'name it with ORANGEBOX_ENDPOINT or --endpoint');
  const { createRecovery, followDirectory, sweepFullDirectory, sweepWhileFull } = await import(
    '@orangebox/recorder/recovery'
  );
  const stop = new AbortController();
  void stopSignal().then(() => stop.abort());
  const isOnce = options.once === true;
  const log = new StateLog(context, options.json === true);
  const dir = isOnce ? recordingsIn(context, directory) : await recordingsToCome(context, directory, log, stop.signal);
  if (dir === undefined) return EXIT.ok;
  const host = createRecovery({
    dir,
    config,
    env: context.env.all,
    kind: 'ship',
    isOnce,
    signal: stop.signal,
    onTrouble: (code, message) => log.trouble(code, message),
  });
  const { payloads } = host;
  if (!payloads) throw usage('no endpoint is set', 'name it with ORANGEBOX_ENDPOINT or --endpoint');
  // The origin alone: its path may be a secret.
  log.say('started', `shipping the recordings in ${dir} to ${new URL(config.endpoint).origin}`);
  // The recorder's sockets and timers never keep a process alive; here somebody waits for them.
  const alive = setInterval(() => undefined, 60_000);
  const sweeping = new AbortController();
  try {
    // What programs that live for a second can't do themselves.
    if (!isOnce) void sweepWhileFull(dir, sweeping.signal, log);
    await followDirectory({ ...host, payloads }, log, { isOnce });
    if (isOnce) log.onSwept(await sweepFullDirectory(dir));
  } finally {
    sweeping.abort();
    clearInterval(alive);
  }
  log.say('stopped', `${plural(log.sent, 'payload')} sent`);
  return isOnce && log.isTroubled ? EXIT.network : EXIT.ok;
}

const LOOK_MS = 1000;

/** A sidecar may start before the service has made its first call, or its directory. `undefined`: told to stop meanwhile. */
async function recordingsToCome(
  context: CommandContext,
  directory: string | undefined,
  log: StateLog,
  signal: AbortSignal,
): Promise<string | undefined> {
  const named = directory ?? context.dir ?? context.env.dir;
  // Without a name nobody knows where recordings will be.
  if (named === undefined) return recordingsIn(context, directory);
  const place = resolve(context.cwd, named);
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    if (isDirectory(place)) {
      const dir = recordingsIn(context, directory);
      if (isDirectory(join(dir, SEGMENTS_DIRECTORY))) return dir;
    }
    if (isFirst) log.say('waiting', `nothing is recorded in ${place} yet; waiting for a program's first call`);
    await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
  log.say('stopped', '0 payloads sent');
  return undefined;
}

/** One line per change of state, never one per payload. */
class StateLog {
  sent = 0;
  readonly #context: CommandContext;
  readonly #isJson: boolean;
  #trouble: string | undefined;

  constructor(context: CommandContext, isJson: boolean) {
    this.#context = context;
    this.#isJson = isJson;
  }

  get isTroubled(): boolean {
    return this.#trouble !== undefined;
  }

  say(state: string, message: string, more: object = {}): void {
    const { terminal } = this.#context;
    if (this.#isJson) terminal.line(safeJson({ at: new Date().toISOString(), state, message, ...more }));
    else terminal.line(escapeLine(message));
  }

  trouble(code: string, message: string): void {
    if (this.#trouble === code) return;
    this.#trouble = code;
    this.say('trouble', message, { code });
  }

  readonly onFollow = (series: string): void => this.say('following', `following ${series}`, { series });

  readonly onLeave = (series: string): void =>
    this.say('left', `${series} is shipped by its own program now`, { series });

  readonly onRecovered = (series: string, counts: RecoveryCounts): void => {
    this.#took(counts.sent);
    const { calls, sent, refused, left } = counts;
    const died = calls > 0 ? `, ${plural(calls, 'call')} of a process that died completed` : '';
    const rest = `${refused > 0 ? `, ${refused} refused` : ''}${left > 0 ? `, ${left} left` : ''}`;
    if (calls + sent + refused + left > 0)
      this.say('recovered', `${series} has ended: ${plural(sent, 'payload')} sent${died}${rest}`, { series, counts });
  };

  readonly onSent = (counts: FollowCounts): void => {
    this.#took(counts.sent);
    if (counts.refused > 0)
      this.say('refused', `the endpoint refused ${plural(counts.refused, 'payload')} for good`, { counts });
    if (counts.lost > 0) this.say('lost', `${plural(counts.lost, 'recording')} can't be read back`, { counts });
  };

  readonly onSwept = (counts: SweptCounts): void => {
    if (counts.unsent + counts.sent > 0) this.say('swept', sweptLine(counts), { counts });
  };

  readonly onFault = (error: unknown): void => this.trouble('fault', error instanceof Error ? error.message : 'fault');

  #took(sent: number): void {
    this.sent += sent;
    if (sent === 0 || this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.say('well', 'the endpoint takes recordings again');
  }
}
