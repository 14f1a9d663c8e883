/**
 * An error a person or a program is meant to act on: a stable code, what was wrong, and what to do.
 * Codes are `snake_case`, never reused for another meaning.
 */
export class DroverError extends Error {
  override readonly name: string = 'DroverError';
  readonly code: string;
  /** What the reader can do about it, as a sentence; empty when nothing is to be done. */
  readonly hint: string;

  constructor(code: string, message: string, hint = '', options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.hint = hint;
  }
}
