/** A sign of life on standard error for work that takes over a second. */
import type { Terminal } from './terminal.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/**
 * Waits for the work; after a second shows what is being waited for, and takes it away at the end. Only on a terminal.
 * While `label` gives nothing, nothing is shown: a question may stand there.
 */
export async function withProgress<T>(
  terminal: Terminal,
  label: () => string | undefined,
  work: Promise<T>,
): Promise<T> {
  if (!terminal.errorInteractive) return work;
  const startedMs = Date.now();
  let frame = 0;
  let shown = false;
  const timer = setInterval(() => {
    const text = label();
    if (text === undefined || Date.now() - startedMs < 1000) return;
    shown = true;
    const seconds = Math.round((Date.now() - startedMs) / 1000);
    process.stderr.write(
      `\r\x1b[K${FRAMES[frame++ % FRAMES.length]} ${text} ${terminal.errorColors.dim(`${seconds}s`)}`,
    );
  }, 120);
  timer.unref();
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (shown) process.stderr.write('\r\x1b[K');
  }
}
