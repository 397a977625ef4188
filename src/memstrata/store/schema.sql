-- Schema 1, of every store: SQLite takes it as it is, store/dialect.py tells how PostgreSQL's is made of it.
-- Every key begins with tenant, owner: an owner is a user ("u:...") or an agent without a user ("a:...").
-- Times are microseconds since 1970 in UTC; lists and mappings are JSON. `agent` and `session` are '' where none is named.

-- The truth -----------------------------------------------------------------------------------------------------------

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Counters of one owner. `seq` grows with every operation, `changed` with every row that is searched, `notes_changed`
-- with every note, `epoch` when units went away, `purged` with every note
-- that went for good (the log cannot be replayed then), `compressed` is `changed` as upkeep last compared the notes;
-- `lease_*` lets one worker at a time work for an owner.
CREATE TABLE owners (
  tenant TEXT NOT NULL, owner TEXT NOT NULL,
  seq INTEGER NOT NULL DEFAULT 0, changed INTEGER NOT NULL DEFAULT 0, notes_changed INTEGER NOT NULL DEFAULT 0,
  next_turn INTEGER NOT NULL DEFAULT 1, next_page INTEGER NOT NULL DEFAULT 1, next_note INTEGER NOT NULL DEFAULT 1,
  next_unit INTEGER NOT NULL DEFAULT 1, next_job INTEGER NOT NULL DEFAULT 1, epoch INTEGER NOT NULL DEFAULT 0,
  purged INTEGER NOT NULL DEFAULT 0, compressed INTEGER NOT NULL DEFAULT 0,
  lease_holder TEXT, lease_until INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, owner)
) WITHOUT ROWID;
CREATE INDEX owners_compress ON owners (tenant, compressed, owner) WHERE compressed < changed;

-- The tick counter of heat and the newest time said, for each agent of an owner.
CREATE TABLE scopes (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, agent TEXT NOT NULL,
  tick INTEGER NOT NULL DEFAULT 0, newest_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, owner, agent)
) WITHOUT ROWID;

CREATE TABLE sessions (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL,
  next_position INTEGER NOT NULL, hot INTEGER NOT NULL, state TEXT NOT NULL,
  started_at INTEGER NOT NULL, last_at INTEGER NOT NULL, last_recorded INTEGER NOT NULL,
  PRIMARY KEY (tenant, owner, agent, session)
) WITHOUT ROWID;
CREATE INDEX sessions_open ON sessions (tenant, owner, last_at) WHERE state = 'open' AND hot > 0;
CREATE INDEX sessions_idle ON sessions (tenant, last_recorded) WHERE state = 'open' AND hot > 0;

-- `hidden`: 1 = evidence of a note its user forgot, 2 = evidence of a superseded note, 3 = both.
CREATE TABLE turns (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, no INTEGER NOT NULL,
  agent TEXT NOT NULL, session TEXT NOT NULL, position INTEGER NOT NULL, id TEXT,
  role TEXT NOT NULL, speaker TEXT, text TEXT NOT NULL, parts TEXT, metadata TEXT,
  at INTEGER NOT NULL, at_offset INTEGER NOT NULL, recorded_at INTEGER NOT NULL,
  trust TEXT NOT NULL, tier TEXT NOT NULL, page INTEGER, is_source INTEGER NOT NULL, hidden INTEGER NOT NULL DEFAULT 0,
  op TEXT NOT NULL,
  UNIQUE (tenant, owner, no)
);
CREATE UNIQUE INDEX turns_position ON turns (tenant, owner, agent, session, position);
CREATE UNIQUE INDEX turns_id ON turns (tenant, owner, agent, session, id) WHERE id IS NOT NULL;

-- h was the heat at h_tick; cools_at is the first tick at which it is below beta.
CREATE TABLE pages (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, no INTEGER NOT NULL,
  agent TEXT NOT NULL, session TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  summary TEXT NOT NULL, drafts TEXT NOT NULL, state TEXT NOT NULL,
  h REAL NOT NULL, h_tick INTEGER NOT NULL, cools_at INTEGER NOT NULL, recalls INTEGER NOT NULL, due_at INTEGER,
  started_at INTEGER NOT NULL, ended_at INTEGER NOT NULL, op TEXT NOT NULL,
  UNIQUE (tenant, owner, no)
);
CREATE INDEX pages_due ON pages (tenant, owner, agent, cools_at) WHERE state = 'warm' AND due_at IS NULL;

CREATE TABLE notes (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, no INTEGER NOT NULL, id TEXT NOT NULL,
  agent TEXT NOT NULL, session TEXT NOT NULL, state TEXT NOT NULL, revision INTEGER NOT NULL,
  content TEXT NOT NULL, context TEXT NOT NULL, keywords TEXT NOT NULL, tags TEXT NOT NULL, names TEXT NOT NULL,
  speaker TEXT, kind TEXT NOT NULL, language TEXT NOT NULL, trust TEXT NOT NULL, negated INTEGER NOT NULL,
  statement TEXT NOT NULL, subject TEXT, attribute TEXT, value TEXT,
  event_start INTEGER, event_end INTEGER, event_precision TEXT,
  said_at INTEGER NOT NULL, valid_from INTEGER NOT NULL, valid_to INTEGER, recorded_at INTEGER NOT NULL,
  closed_at INTEGER, last_access INTEGER NOT NULL, rate REAL NOT NULL, forgets_at INTEGER, pinned INTEGER NOT NULL,
  superseded_by TEXT, decision TEXT, edited TEXT NOT NULL, metadata TEXT, op TEXT NOT NULL,
  UNIQUE (tenant, owner, no)
);
CREATE UNIQUE INDEX notes_id ON notes (tenant, owner, id);
CREATE INDEX notes_statement ON notes (tenant, owner, statement);
CREATE INDEX notes_slot ON notes (tenant, owner, subject, attribute) WHERE subject IS NOT NULL;
CREATE INDEX notes_forget ON notes (tenant, forgets_at) WHERE state = 'current' AND forgets_at IS NOT NULL;
CREATE INDEX notes_purge ON notes (tenant, closed_at) WHERE state IN ('forgotten', 'removed', 'undone');

CREATE TABLE evidence (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, note INTEGER NOT NULL, turn INTEGER NOT NULL,
  PRIMARY KEY (tenant, owner, note, turn)
) WITHOUT ROWID;
CREATE INDEX evidence_turn ON evidence (tenant, owner, turn, note);

CREATE TABLE links (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, source INTEGER NOT NULL, target INTEGER NOT NULL, type TEXT NOT NULL,
  score REAL NOT NULL, reason TEXT NOT NULL, op TEXT NOT NULL,
  PRIMARY KEY (tenant, owner, source, target, type)
) WITHOUT ROWID;
CREATE INDEX links_target ON links (tenant, owner, target, source);

CREATE TABLE names (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, note INTEGER NOT NULL,
  PRIMARY KEY (tenant, owner, name, note)
) WITHOUT ROWID;

CREATE TABLE decisions (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL, op TEXT NOT NULL, n INTEGER NOT NULL,
  page INTEGER, turn INTEGER, note TEXT, outcome TEXT NOT NULL, score REAL, theta REAL NOT NULL, body TEXT NOT NULL,
  decided_at INTEGER NOT NULL,
  UNIQUE (tenant, owner, id)
);
CREATE INDEX decisions_op ON decisions (tenant, owner, op, n);
CREATE INDEX decisions_turn ON decisions (tenant, owner, turn) WHERE turn IS NOT NULL;
CREATE INDEX decisions_note ON decisions (tenant, owner, note) WHERE note IS NOT NULL;

-- What a person said of a decision, the last word of it. `note` is the one that an accepted candidate became.
CREATE TABLE feedback (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, decision TEXT NOT NULL,
  accept INTEGER NOT NULL, reason TEXT, note TEXT, at INTEGER NOT NULL, op TEXT NOT NULL,
  PRIMARY KEY (tenant, owner, decision)
) WITHOUT ROWID;

-- The operation log: with the turns, the source of truth. `changes` are its revisions, row by row.
CREATE TABLE operations (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, verb TEXT NOT NULL,
  agent TEXT NOT NULL, session TEXT NOT NULL, at INTEGER NOT NULL, payload TEXT NOT NULL, receipt TEXT NOT NULL,
  idempotency_key TEXT, digest TEXT, undone_by TEXT,
  UNIQUE (tenant, owner, id)
);
CREATE UNIQUE INDEX operations_seq ON operations (tenant, owner, seq);
CREATE UNIQUE INDEX operations_key ON operations (tenant, owner, agent, verb, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

CREATE TABLE changes (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, op TEXT NOT NULL, n INTEGER NOT NULL,
  tbl TEXT NOT NULL, ref TEXT NOT NULL, before TEXT, after TEXT,
  UNIQUE (tenant, owner, op, n)
);
CREATE INDEX changes_row ON changes (tenant, owner, tbl, ref);

-- Queued work, in the order it fell due. A job's row goes in the transaction that commits its work.
CREATE TABLE jobs (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, no INTEGER NOT NULL, kind TEXT NOT NULL, agent TEXT NOT NULL,
  payload TEXT NOT NULL, op TEXT NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
  run_after INTEGER NOT NULL, error TEXT,
  PRIMARY KEY (tenant, owner, no)
) WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs (tenant, state, kind, run_after);

-- Notes that `context` put before a model, so that their echo is not taken for news.
CREATE TABLE served (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL, note INTEGER NOT NULL,
  PRIMARY KEY (tenant, owner, agent, session, note)
) WITHOUT ROWID;

-- Calls of a language model and what each cost (`cost` in US dollars, NULL where the price is unknown); `op` queued the
-- job that asked. `answer` is paid for: it waits there for the commit of its step, which empties it.
CREATE TABLE calls (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, stage TEXT NOT NULL,
  agent TEXT NOT NULL, session TEXT NOT NULL, op TEXT NOT NULL, job INTEGER, page INTEGER,
  model TEXT NOT NULL, prompt TEXT NOT NULL, outcome TEXT NOT NULL,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
  seconds REAL NOT NULL, cost REAL, answer TEXT,
  UNIQUE (tenant, owner, id)
);
CREATE INDEX calls_day ON calls (tenant, at);
CREATE INDEX calls_waiting ON calls (tenant, owner, op, job, stage) WHERE answer IS NOT NULL;
CREATE INDEX calls_page ON calls (tenant, owner, page) WHERE page IS NOT NULL;

-- Receipts of erasures: counts only, nothing of the subject.
CREATE TABLE erasures (
  tenant TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, counts TEXT NOT NULL, PRIMARY KEY (tenant, id)
) WITHOUT ROWID;

-- Derived: rebuilt from the tables above by `reindex` ------------------------------------------------------------------

-- What can be found: kind 0 = note, 1 = page, 2 = turn; `ref` is its number, `length` its words, `changed` the owner's
-- counter at the last write.
CREATE TABLE units (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, no INTEGER NOT NULL, kind INTEGER NOT NULL, ref INTEGER NOT NULL,
  length INTEGER NOT NULL, changed INTEGER NOT NULL,
  PRIMARY KEY (tenant, owner, no)
) WITHOUT ROWID;
CREATE UNIQUE INDEX units_ref ON units (tenant, owner, kind, ref);
CREATE INDEX units_changed ON units (tenant, owner, kind, changed);

-- One row for each chunk of a unit. `terms`: its index terms, sorted, with spaces between; readers invert them.
-- flags: 1 = the chunk has a time word, 2 = a proper noun, 4 = a question. `tokens`: of turns, the vectors of the
-- chunk's tokens, four bits a component (index/tokens.py); NULL where the embedder gives none.
CREATE TABLE vectors (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, unit INTEGER NOT NULL, chunk INTEGER NOT NULL,
  model TEXT NOT NULL, dim INTEGER NOT NULL, flags INTEGER NOT NULL, terms TEXT NOT NULL, vector BLOB NOT NULL, tokens BLOB,
  UNIQUE (tenant, owner, unit, chunk)
);

-- Vectors of another model on their way in: `reembed` fills them text by text and puts them in place in one transaction.
CREATE TABLE next_vectors (
  tenant TEXT NOT NULL, owner TEXT NOT NULL, model TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL,
  tokens BLOB,
  PRIMARY KEY (tenant, owner, model, digest)
) WITHOUT ROWID;

-- SQLite only -------------------------------------------------------------------------------------------------------

-- What SQLite's planner should expect before it has seen any data: many links an owner, few a note. Without it, the links
-- of ten notes are found by reading all links of their owner.
ANALYZE;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('links', 'links', '100000 10000 1000 3 1 1'), ('links', 'links_target', '100000 10000 1000 3 1');
