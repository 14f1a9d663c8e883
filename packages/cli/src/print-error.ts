import { isDroverError, toWireError, type WireError } from '@drover/core/client';
import { EXIT_CODES, exitCodeOf } from './exit-codes.ts';
import type { Output } from './output.ts';
import { cleanText, safeJson } from './term/sanitize.ts';

/** Writes an error in the form that all commands share, and gives the exit code that belongs to it. */
export function printError(error: unknown, out: Output): number {
  const wire = isDroverError(error) ? toWireError(error) : fault(error);
  if (out.json) out.stderr.write(`${safeJson({ error: wire })}\n`);
  else out.stderr.write(textOf(wire, out));
  return exitCodeOf(wire.code);
}

function fault(error: unknown): WireError {
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'internal', message: `A fault of drover: ${message}`, hint: 'With DROVER_DEBUG=1 it shows where.' };
}

function textOf(wire: WireError, out: Output): string {
  const lines = [`${out.errStyle('red', 'drover:')} ${cleanText(wire.message)}`];
  for (const issue of wire.issues ?? []) {
    const text = issueText(issue);
    // A message that was made of the issues says all of it already.
    if (text && !wire.message.includes(said(issue))) lines.push(`  ${cleanText(text)}`);
  }
  if (wire.hint) lines.push(`  ${cleanText(wire.hint)}`);
  return `${lines.join('\n')}\n`;
}

const said = (issue: unknown) =>
  typeof issue === 'string' ? issue : String((issue as { message?: unknown })?.message);

/** `file:line: key: message`, with what the issue has. */
function issueText(issue: unknown): string {
  if (typeof issue === 'string') return issue;
  const { file, line, column, key, message } = (issue ?? {}) as Record<string, string | number | undefined>;
  const place = file === undefined ? '' : [file, line, column].filter((p) => p !== undefined).join(':');
  return [place, key, message].filter((p) => p !== undefined && p !== '').join(': ');
}

/** Interrupted: no error text, the command has said what goes on. */
export const INTERRUPTED = EXIT_CODES.interrupted.code;
