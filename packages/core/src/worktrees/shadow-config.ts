/** One entry of a git configuration, in the order of the file. A null value is a key without `=`, which means true. */
export interface ConfigLine {
  /** `section.key` or `section.subsection.key`, as `git config --list` prints it. */
  key: string;
  value: string | null;
}

/** Never copied: what says where the repository is, what runs programs for git itself, and what carries secrets. */
const DROPPED: readonly RegExp[] = [
  /^core\.(worktree|bare|fsmonitor|fsmonitorhookversion|askpass|sshcommand|gitproxy|alternaterefscommand)$/,
  /^(include|includeif|credential|sendemail|imap|instaweb)\./,
  /^extensions\.refstorage$/,
  // A header or cookie is a login; the files and proxies named here are the user's, and hidden.
  /^http\.(.*\.)?(extraheader|cookiefile|savecookies|sslkey|sslcert|sslcertpasswordprotected|proxysslkey|proxysslcert)$/,
  // Signing needs a key that no sandbox holds: each commit would fail.
  /^(commit|tag|push)\.gpgsign$/,
  /^(gc|maintenance)\.auto(detach)?$/,
];

/** Written last, where they win. A pack that git makes by itself in the middle of a take-over only costs time. */
const ADDED: readonly ConfigLine[] = [
  { key: 'gc.auto', value: '0' },
  { key: 'maintenance.auto', value: 'false' },
  { key: 'commit.gpgsign', value: 'false' },
  { key: 'tag.gpgsign', value: 'false' },
];

/** What of the user's configuration an agent may see and use, with the passwords taken out of URLs. */
export function filterConfig(lines: readonly ConfigLine[]): ConfigLine[] {
  const kept = lines.filter(({ key }) => !DROPPED.some((pattern) => pattern.test(key)));
  return [...kept.map(withoutPasswords), ...ADDED];
}

/**
 * Takes logins out of every `scheme://login@host` in a text. A token can stand in the user's place as well, so all of the
 * login goes; only with ssh (`ssh://git@host`) the name is part of the address, and just a password goes.
 */
export function stripLogins(text: string): string {
  return text.replace(/\b([a-z][a-z0-9+.-]*):\/\/([^/?#\s]*)@/gi, (_, scheme: string, login: string) => {
    return /ssh/i.test(scheme) ? `${scheme}://${login.split(':', 1)[0]}@` : `${scheme}://`;
  });
}

function withoutPasswords({ key, value }: ConfigLine): ConfigLine {
  if (value === null) return { key: stripLogins(key), value };
  // A proxy may be written without a scheme.
  const plain = key.endsWith('.proxy') ? value.replace(/^[^/@]*@/, '') : value;
  return { key: stripLogins(key), value: stripLogins(plain) };
}

/** Reads what `git config -z --list` printed. Bytes go through as latin1, whatever their encoding. */
export function parseConfig(output: Buffer): ConfigLine[] {
  const entries = output.toString('latin1').split('\0').slice(0, -1);
  return entries.map((entry) => {
    const end = entry.indexOf('\n');
    return end < 0 ? { key: entry, value: null } : { key: entry.slice(0, end), value: entry.slice(end + 1) };
  });
}

/** A configuration file with these entries, as latin1 text. */
export function formatConfig(lines: readonly ConfigLine[]): string {
  return lines.map(formatLine).join('');
}

function formatLine({ key, value }: ConfigLine): string {
  const first = key.indexOf('.');
  const last = key.lastIndexOf('.');
  const section = key.slice(0, first);
  const header =
    first === last ? `[${section}]` : `[${section} "${key.slice(first + 1, last).replace(/["\\]/g, '\\$&')}"]`;
  const name = key.slice(last + 1);
  return value === null ? `${header}\n\t${name}\n` : `${header}\n\t${name} = "${escapeValue(value)}"\n`;
}

function escapeValue(value: string): string {
  return value.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n').replace(/\t/g, '\\t').replace(/[\b]/g, '\\b');
}
