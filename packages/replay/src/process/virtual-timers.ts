/** Timers of the program in virtual time: each fires when the recording says so, and never by a clock. */
import { AsyncResource } from 'node:async_hooks';
import type { TimerFiredRecord, TimerKind } from '@orangebox/schema';

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

/** The timers of a thread. */
export class VirtualTimers {
  readonly #waiting: Map<number, VirtualTimer> = new Map();
  readonly #byHandle: WeakMap<object, VirtualTimer> = new WeakMap();
  readonly #byNumber: Map<number, VirtualTimer> = new Map();
  /** Timers made so far. */
  made = 0;
  /** Made or cleared: something happened. */
  changes = 0;

  make(request: TimerRequest): object {
    const { kind, delayMs, at, callback } = request;
    const id = this.made++;
    this.changes++;
    // The platform's object, so that its class and members are the same; it does nothing and holds nothing.
    const handle = request.real(() => undefined) as Handle;
    handle.unref?.();
    const resource = new AsyncResource(kind === 'immediate' ? 'Immediate' : 'Timeout');
    const timer: VirtualTimer = {
      id,
      kind,
      delayMs,
      at,
      fire: () => {
        if (kind !== 'interval') this.#forget(timer);
        resource.runInAsyncScope(callback, handle);
      },
    };
    this.#waiting.set(id, timer);
    this.#byHandle.set(handle, timer);
    this.#dress(handle, timer);
    return handle;
  }

  clear(handle: unknown): void {
    const isNumber = typeof handle === 'number' || typeof handle === 'string';
    const timer = isNumber
      ? this.#byNumber.get(Number(handle))
      : typeof handle === 'object' && handle !== null
        ? this.#byHandle.get(handle)
        : undefined;
    if (!timer) return;
    this.changes++;
    this.#forget(timer);
  }

  /** The timer of a firing on record, where it waits. */
  waiting({ timerId }: TimerFiredRecord): VirtualTimer | undefined {
    return this.#waiting.get(timerId);
  }

  #forget(timer: VirtualTimer): void {
    this.#waiting.delete(timer.id);
  }

  /** Members that would have the platform's timer hold the process, or fire again. */
  #dress(handle: Handle, timer: VirtualTimer): void {
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
        this.#byNumber.set(number, timer);
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
