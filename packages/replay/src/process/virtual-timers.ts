/** Timers of the program in virtual time: each fires when the recording says so, and never by a clock. */
import { AsyncResource } from 'node:async_hooks';
import type { TimerFiredRecord, TimerKind } from '@orangebox/schema';
import { platform } from './platform.ts';

/** A timer that the program makes. */
export interface TimerRequest {
  kind: TimerKind;
  delayMs: number;
  at: string;
  callback: (this: unknown) => void;
  /** Makes the platform's timer. */
  real: (callback: (this: unknown) => void) => object;
}

/** A timer that waits. */
export interface VirtualTimer {
  id: number;
  kind: TimerKind;
  delayMs: number;
  at: string;
  fire: () => void;
}

type Handle = object & { unref?: () => unknown };

interface Held extends VirtualTimer {
  handle: Handle;
  /** What it may be cleared by, once somebody has asked for it. */
  number?: number;
  /** It never fires again, whatever is asked of its handle. */
  isCleared: boolean;
}

/** The timers of a thread. */
export class VirtualTimers {
  readonly #waiting: Map<number, Held> = new Map();
  readonly #byHandle: WeakMap<object, Held> = new WeakMap();
  readonly #byNumber: Map<number, Held> = new Map();
  /** Numbers that none of the program's has. */
  readonly #skipped: ReadonlySet<number>;
  /** Timers made so far, with those that are skipped. */
  made = 0;
  /** Made or cleared: something happened. */
  changes = 0;

  constructor(skipped: ReadonlySet<number> = new Set()) {
    this.#skipped = skipped;
  }

  make(request: TimerRequest): object {
    const { kind, delayMs, at, callback } = request;
    while (this.#skipped.has(this.made)) this.made++;
    const id = this.made++;
    this.changes++;
    // The platform's object, so that its class and members are the same; it does nothing and holds nothing.
    const handle = request.real(() => undefined) as Handle;
    handle.unref?.();
    const resource = new AsyncResource(kind === 'immediate' ? 'Immediate' : 'Timeout');
    const timer: Held = {
      id,
      kind,
      delayMs,
      at,
      handle,
      isCleared: false,
      fire: () => {
        if (kind !== 'interval') this.#forget(timer);
        resource.runInAsyncScope(callback, handle);
      },
    };
    this.#waiting.set(id, timer);
    this.#byHandle.set(handle, timer);
    this.#dress(timer);
    return handle;
  }

  clear(handle: unknown): void {
    const isNumber = typeof handle === 'number' || typeof handle === 'string';
    const timer = isNumber
      ? this.#byNumber.get(Number(handle))
      : typeof handle === 'object' && handle !== null
        ? this.#byHandle.get(handle)
        : undefined;
    if (!timer || timer.isCleared) return;
    this.changes++;
    timer.isCleared = true;
    this.#forget(timer);
    // The platform's own goes on by itself where nothing but its members were asked.
    if (timer.kind === 'immediate') platform.clearImmediate(timer.handle as NodeJS.Immediate);
    else platform.clearTimeout(timer.handle as NodeJS.Timeout);
  }

  /** The timer of a firing on record, where it waits. */
  waiting({ timerId }: TimerFiredRecord): VirtualTimer | undefined {
    return this.#waiting.get(timerId);
  }

  /** The newest timer that waits and is none of these. */
  newestBeside(ids: ReadonlySet<number>): VirtualTimer | undefined {
    return [...this.#waiting.values()].findLast(({ id }) => !ids.has(id));
  }

  /** Whether a timer waits that keeps the program going. */
  get isAnyHeld(): boolean {
    return [...this.#waiting.values()].some(({ handle }) => (handle as NodeJS.Timeout).hasRef());
  }

  /** Timers that wait, and those of them that can be cleared by a number. */
  get sizes(): { waiting: number; numbered: number } {
    return { waiting: this.#waiting.size, numbered: this.#byNumber.size };
  }

  #forget(timer: Held): void {
    this.#waiting.delete(timer.id);
    // As the platform's: the number of one that fired clears nothing, also when it was begun anew.
    if (timer.number !== undefined) this.#byNumber.delete(timer.number);
  }

  /** Members that would have the platform's timer hold the process, or fire again. */
  #dress(timer: Held): void {
    const { handle } = timer;
    let isHeld = true;
    const own: Record<PropertyKey, () => unknown> = {
      ref: () => {
        isHeld = true;
        return handle;
      },
      unref: () => {
        isHeld = false;
        return handle;
      },
      hasRef: () => isHeld,
    };
    if (timer.kind !== 'immediate') {
      own['refresh'] = () => {
        if (timer.isCleared) return handle;
        this.changes++;
        this.#waiting.set(timer.id, timer);
        return handle;
      };
      own['close'] = () => {
        this.clear(handle);
        return handle;
      };
      own[Symbol.toPrimitive] = () => {
        const toNumber = (Object.getPrototypeOf(handle) as { [Symbol.toPrimitive]?: () => number })[Symbol.toPrimitive];
        const number = Number(toNumber?.call(handle));
        if (this.#waiting.has(timer.id)) this.#byNumber.set((timer.number = number), timer);
        return number;
      };
    }
    const dispose: symbol | undefined = (Symbol as { dispose?: symbol }).dispose;
    if (dispose) own[dispose] = () => this.clear(handle);
    for (const key of Reflect.ownKeys(own)) {
      Object.defineProperty(handle, key, { configurable: true, writable: true, enumerable: false, value: own[key] });
    }
  }
}
