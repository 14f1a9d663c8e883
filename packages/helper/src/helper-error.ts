/**
 * A refusal of the helper, or its absence. Codes: those of docs/helper-protocol.md, `helper_unreachable` (nobody answers) and
 * `helper_lost` (it went away before the answer: whether the act was done is then not known).
 */
export class HelperError extends Error {
  override readonly name = 'HelperError';
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
