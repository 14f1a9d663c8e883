import { type FSWatcher, watch } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

const CHUNK_BYTES = 64 * 1024;

/**
 * Follows a growing file by the kernel's change events and gives its bytes, in order and once, to `onBytes`.
 * Works with and without a living writer, so an adopted attempt is read like a new one.
 */
export class LogTail {
  readonly #path: string;
  readonly #onBytes: (bytes: Uint8Array) => void;
  readonly #onError: (error: unknown) => void;
  #watcher: FSWatcher | undefined;
  #file: FileHandle | undefined;
  #offset = 0;
  #reading: Promise<void> = Promise.resolve();
  #wanted = false;

  constructor(path: string, onBytes: (bytes: Uint8Array) => void, onError: (error: unknown) => void) {
    this.#path = path;
    this.#onBytes = onBytes;
    this.#onError = onError;
  }

  /** Bytes read so far. */
  get offset(): number {
    return this.#offset;
  }

  /** Starts at the beginning of the file, which must exist. */
  async start(): Promise<void> {
    this.#file = await open(this.#path, 'r');
    this.#watcher = watch(this.#path, { persistent: false }, () => this.#poke());
    this.#watcher.on('error', this.#onError);
    this.#poke();
  }

  /** Reads what is there to its end, then stops. */
  async finish(): Promise<void> {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#poke();
    await this.#reading;
    await this.#file?.close();
    this.#file = undefined;
  }

  /** At most one reader and one wish to read again: events that come faster than reads cost nothing. */
  #poke(): void {
    if (this.#wanted) return;
    this.#wanted = true;
    this.#reading = this.#reading
      .then(async () => {
        this.#wanted = false;
        await this.#drain();
      })
      .catch(this.#onError);
  }

  async #drain(): Promise<void> {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    while (this.#file) {
      const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, this.#offset);
      if (bytesRead === 0) return;
      this.#offset += bytesRead;
      this.#onBytes(buffer.subarray(0, bytesRead));
    }
  }
}
