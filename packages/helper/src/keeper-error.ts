/**
 * A keeper's refusal, or its absence. Codes: `keeper_gone` (nobody answers, or it went away in between), and those of
 * docs/helper-protocol.md (`bad_request`, `busy`, `spawn_failed`, `unsupported`, ...).
 */
export class KeeperError extends Error {
  override readonly name = 'KeeperError';
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
