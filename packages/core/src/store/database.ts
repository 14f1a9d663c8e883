import Sqlite from 'better-sqlite3';
import { type Compilable, DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import { DroverError } from '../shared/errors.ts';
import { MIGRATIONS } from './migrations.ts';
import type { Schema } from './schema.ts';

/** Builds typed queries; it never runs one. */
const builder = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

/**
 * The engine's database. Kysely gives the types, better-sqlite3 runs the query at once: a state change of the engine
 * is then one synchronous step that no other step can come between.
 */
export class Database {
  readonly query = builder;
  readonly #sqlite: Sqlite.Database;

  /**
   * Opens and migrates. Throws DroverError `engine_running` (another process has it open), `database_newer` (made by a later version), `database_corrupt`, or
   * `database_unusable` (disk full, read-only, no permission); the file is then left as it was.
   */
  constructor(path: string) {
    let sqlite: Sqlite.Database | undefined;
    try {
      sqlite = new Sqlite(path);
      prepare(sqlite, path);
      this.#sqlite = sqlite;
    } catch (error) {
      sqlite?.close();
      throw databaseError(error, path);
    }
  }

  /** All rows of a query. */
  all<T>(query: Compilable<T>): T[] {
    const { sql, parameters } = query.compile();
    return this.#sqlite.prepare(sql).all(...parameters) as T[];
  }

  /** The first row, or undefined. */
  first<T>(query: Compilable<T>): T | undefined {
    const { sql, parameters } = query.compile();
    return this.#sqlite.prepare(sql).get(...parameters) as T | undefined;
  }

  /** Runs a statement; answers how many rows changed and the row id of an insert. */
  run(query: Compilable<unknown>): { changes: number; id: number } {
    const { sql, parameters } = query.compile();
    const result = this.#sqlite.prepare(sql).run(...parameters);
    return { changes: result.changes, id: Number(result.lastInsertRowid) };
  }

  /** Runs `work` as one transaction: all of it happens, or, when it throws, none. */
  transaction<T>(work: () => T): T {
    return this.#sqlite.transaction(work).immediate();
  }

  close(): void {
    this.#sqlite.close();
  }
}

function prepare(sqlite: Sqlite.Database, path: string): void {
  sqlite.pragma('busy_timeout = 5000');
  // Held until the end: a second engine on the same state would drive the same attempts.
  sqlite.pragma('locking_mode = EXCLUSIVE');
  sqlite.pragma('journal_mode = WAL');
  // A record that was reported must survive a power cut, so each commit is synced.
  sqlite.pragma('synchronous = FULL');
  sqlite.pragma('foreign_keys = ON');
  sqlite.exec('BEGIN IMMEDIATE; COMMIT');
  migrate(sqlite, path);
}

function migrate(sqlite: Sqlite.Database, path: string): void {
  const version = Number(sqlite.pragma('user_version', { simple: true }));
  if (version > MIGRATIONS.length) {
    throw new DroverError(
      'database_newer',
      `${path} was written by a newer Drover (schema ${version}, this one knows ${MIGRATIONS.length})`,
      'Use that version, or another state directory (DROVER_STATE_DIR).',
    );
  }
  for (let next = version; next < MIGRATIONS.length; next++) {
    sqlite.transaction(() => {
      sqlite.exec(MIGRATIONS[next]!);
      sqlite.pragma(`user_version = ${next + 1}`);
    })();
  }
}

function databaseError(error: unknown, path: string): DroverError {
  if (error instanceof DroverError) return error;
  const code = (error as { code?: string }).code ?? '';
  const message = error instanceof Error ? error.message : String(error);
  if (code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB') {
    return new DroverError(
      'database_corrupt',
      `${path} is damaged: ${message}`,
      'Move it away to start with an empty one; branches and refs/drover/ in the repositories are not touched by that.',
      { cause: error },
    );
  }
  if (code.startsWith('SQLITE_BUSY')) {
    return new DroverError('engine_running', `another engine has ${path} open`, 'End it: `drover down`.', {
      cause: error,
    });
  }
  return new DroverError(
    'database_unusable',
    `${path} cannot be opened: ${message}`,
    'See that the state directory is writable and its disk is not full.',
    { cause: error },
  );
}
