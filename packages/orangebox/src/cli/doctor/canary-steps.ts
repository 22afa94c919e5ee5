/** The steps of the canary as they are told: one line each, with what to do where one failed. */
import type { Terminal } from '../terminal.ts';
import { escapeLine } from '../text/escape.ts';
import { padEnd } from '../text/table.ts';

/** One step and how it went. */
export interface CanaryStep {
  name: 'set-up' | 'span' | 'payload' | 'trace backend' | 'store' | 'no leak' | 'clean-up';
  result: 'ok' | 'warning' | 'failed';
  message: string;
  /** What to do. */
  hint?: string;
}

const WIDTH = 'trace backend'.length;

/** Gathers the steps; each is written as soon as it is known. */
export class CanarySteps {
  readonly steps: CanaryStep[] = [];
  readonly #terminal: Terminal | undefined;

  /** @param terminal undefined where nothing is written on the way. */
  constructor(terminal: Terminal | undefined) {
    this.#terminal = terminal;
  }

  get failed(): boolean {
    return this.steps.some((step) => step.result === 'failed');
  }

  add(name: CanaryStep['name'], result: CanaryStep['result'], message: string, hint?: string): void {
    this.steps.push({ name, result, message, ...(hint === undefined ? {} : { hint }) });
    if (!this.#terminal) return;
    const c = this.#terminal.colors;
    const mark = { ok: c.green('✓'), warning: c.yellow('!'), failed: c.red('✗') }[result];
    this.#terminal.line(`${mark} ${c.bold(padEnd(name, WIDTH))}  ${escapeLine(message)}`);
    if (hint !== undefined) this.#terminal.line(`    ${c.cyan(escapeLine(hint))}`);
  }
}
