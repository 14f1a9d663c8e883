/** The keeper's side of a viewer: what `logs -f` and `attach` need of KeeperClient. */
export interface KeeperStream {
  /** Bytes of stdout or the tty, from the offset that was asked for; ends when the agent has ended or the stream was closed. */
  output: AsyncIterable<Uint8Array>;
  /** How the agent ended; null when the stream was closed before that. Settles after the output. */
  exit: Promise<KeeperExit | null>;
  write(bytes: Uint8Array): void;
  resize(rows: number, cols: number): void;
  close(): void;
}

export interface KeeperExit {
  code: number | null;
  signal: number | null;
}

export interface KeeperAttachOptions {
  mode: 'ro' | 'rw';
  /** Into stdout.log. */
  offset: number;
  rows?: number | undefined;
  cols?: number | undefined;
}
