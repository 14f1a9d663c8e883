import { DroverError } from '../shared/errors.ts';

/** A DroverError as it travels: everything a person or a program acts on, never a stack. */
export interface WireError {
  code: string;
  message: string;
  hint: string;
  /** Places in a file, for errors that have more than one. */
  issues?: unknown[];
}

/** Told by shape, not by class: an error may come from another copy of the module. */
export function isDroverError(error: unknown): error is DroverError & { issues?: unknown } {
  if (!(error instanceof Error)) return false;
  const { code, hint } = error as Partial<DroverError>;
  return typeof code === 'string' && typeof hint === 'string';
}

/** What is sent of any error. A foreign one becomes `internal`, with its message. */
export function toWireError(error: unknown): WireError {
  if (!isDroverError(error)) {
    const message = error instanceof Error ? error.message : String(error);
    return { code: 'internal', message, hint: 'This is a fault of drover. Its engine.log has more.' };
  }
  const { code, message, hint, issues } = error;
  return { code, message, hint, ...(Array.isArray(issues) ? { issues } : {}) };
}

/** The error that {@link toWireError} was given, as far as it travels. */
export function fromWireError(wire: WireError): DroverError {
  const error = new DroverError(wire.code, wire.message, wire.hint);
  return wire.issues ? Object.assign(error, { issues: wire.issues }) : error;
}

/** True for the JSON of a {@link WireError}. */
export function isWireError(value: unknown): value is WireError {
  const v = value as Partial<WireError> | null;
  return typeof v === 'object' && v !== null && typeof v.code === 'string' && typeof v.message === 'string';
}
