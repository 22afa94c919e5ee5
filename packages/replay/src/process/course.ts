/** How far the program has come: what it did that is on record, and that it did anything at all. */
import type { MatchedEvent } from '../divergence/types.ts';
import type { DeliveryQueue } from './delivery-queue.ts';
import type { RunAct } from './run-events.ts';

/** Events that are kept for an explanation. */
const KEPT_EVENTS = 10;

/** The course of a thread. */
export class Course {
  readonly queue: DeliveryQueue;
  /** The last events that went as recorded, oldest first. */
  readonly matched: MatchedEvent[] = [];
  /** Requests and processes that went as recorded. */
  steps = 0;
  /** Changes with whatever the program does. */
  moves = 0;
  /** There is a verdict. */
  isOver = false;

  constructor(queue: DeliveryQueue) {
    this.queue = queue;
  }

  moved(): void {
    this.moves++;
  }

  /** The program did what is on record. */
  did(event: MatchedEvent, is: (act: RunAct) => boolean): void {
    this.moves++;
    this.steps++;
    const act = this.queue.find(is);
    if (act) this.queue.did(act);
    this.matched.push(event);
    if (this.matched.length > KEPT_EVENTS) this.matched.shift();
  }

  /** Nothing is given any more. */
  end(): void {
    this.isOver = true;
    this.queue.stop();
  }
}
