/** Coded errors of everything that runs outside the recorded program (stores, replay, CLI). */

/** An error with a stable code `OBX_<AREA>_<WHAT>`, a plain message, and a hint what to do. */
export class OrangeboxError extends Error {
  override readonly name = 'OrangeboxError';
  readonly code: string;
  /** One sentence that says what to do next. */
  readonly hint: string | undefined;

  constructor(code: `OBX_${string}`, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
  }
}
