/** What the renderers draw with. */
import type { Colors } from 'picocolors/types';
import type { Terminal } from '../terminal.ts';

/** Writes lines in colours within a width; without a width, lines are not wrapped and nothing is cut. */
export interface Pen {
  line(text?: string): void;
  colors: Colors;
  width: number | undefined;
  /** Longest text of one message, in characters. */
  maxText: number;
}

/** A pen for standard output. Off a terminal, and when all is asked for, texts are whole. */
export function penFor(terminal: Terminal, options: { all?: boolean } = {}): Pen {
  return {
    line: (text) => terminal.line(text),
    colors: terminal.colors,
    width: terminal.interactive ? Math.min(terminal.width, 110) : undefined,
    maxText: terminal.interactive && options.all !== true ? 6000 : Number.POSITIVE_INFINITY,
  };
}

/** A pen for standard error, beside an output that must stay clean. */
export function notePen(terminal: Terminal): Pen {
  return {
    line: (text = '') => terminal.note(text),
    colors: terminal.errorColors,
    width: undefined,
    maxText: Number.POSITIVE_INFINITY,
  };
}
