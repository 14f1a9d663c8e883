/**
 * The database's history: each entry is run once, in order, in a transaction of its own; `user_version` counts them.
 * An entry that was released is never edited.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE repositories (
    key TEXT PRIMARY KEY, name TEXT NOT NULL, common_dir TEXT NOT NULL, main_worktree TEXT
  ) STRICT;
  CREATE TABLE plans (
    id INTEGER PRIMARY KEY, repository TEXT NOT NULL REFERENCES repositories(key), name TEXT NOT NULL,
    level TEXT NOT NULL, level_reason TEXT NOT NULL, base TEXT NOT NULL, max_parallel INTEGER NOT NULL,
    strategy TEXT NOT NULL, keep_worktrees TEXT NOT NULL, env_json TEXT NOT NULL, submitted_ms INTEGER NOT NULL, ended_ms INTEGER,
    UNIQUE (repository, name)
  ) STRICT;
  CREATE TABLE tasks (
    id INTEGER PRIMARY KEY, plan_id INTEGER NOT NULL REFERENCES plans(id) ON DELETE CASCADE, name TEXT NOT NULL,
    position INTEGER NOT NULL, definition_json TEXT NOT NULL, fingerprint TEXT NOT NULL, class TEXT NOT NULL,
    state TEXT NOT NULL, outcome TEXT, reason TEXT NOT NULL, submitted_ms INTEGER NOT NULL, started_ms INTEGER,
    ended_ms INTEGER, spent INTEGER NOT NULL, not_before_ms INTEGER, memory_factor REAL NOT NULL, memory_estimate INTEGER NOT NULL,
    result TEXT, branch TEXT, commits INTEGER,
    UNIQUE (plan_id, name)
  ) STRICT;
  CREATE INDEX tasks_by_state ON tasks(state);
  CREATE TABLE attempts (
    id TEXT PRIMARY KEY, task_id INTEGER NOT NULL REFERENCES tasks(id) ON DELETE CASCADE, number INTEGER NOT NULL,
    slot INTEGER NOT NULL, state TEXT NOT NULL, outcome TEXT, reason TEXT NOT NULL, level TEXT NOT NULL,
    sandbox_ref TEXT, enforced_json TEXT NOT NULL, limits_json TEXT NOT NULL, base TEXT, head TEXT, commits INTEGER, worktree TEXT,
    worktree_id TEXT, stop_cause TEXT, session_id TEXT, agent_version TEXT, started_ms INTEGER, ended_ms INTEGER,
    cpu_us INTEGER, memory_peak INTEGER, oom_kills INTEGER, pids_max_hits INTEGER, duration_ms INTEGER,
    usage_json TEXT NOT NULL, summary TEXT,
    UNIQUE (task_id, number)
  ) STRICT;
  CREATE INDEX attempts_open ON attempts(state) WHERE state <> 'ended';
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, ref TEXT, plan TEXT,
    text TEXT NOT NULL, data_json TEXT NOT NULL
  ) STRICT;
  `,
];
