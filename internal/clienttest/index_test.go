package clienttest

import "testing"

// TestIndexesAsInPostgres: indexes are made, shown, renamed and dropped as in PostgreSQL.
func TestIndexesAsInPostgres(t *testing.T) {
	w := newTwins(t, `CREATE TABLE p (id int PRIMARY KEY, a int, b text, c date, UNIQUE (a, b));
		CREATE TABLE c (x int REFERENCES p, y text); CREATE VIEW v AS SELECT id FROM p; CREATE SEQUENCE q`)
	shown := []string{
		"SELECT tablename, indexname, indexdef FROM pg_indexes WHERE tablename IN ('p', 'c') ORDER BY 1, 2",
		`SELECT i.indexrelid::regclass::text AS name, i.indnatts, i.indisunique, i.indisprimary, i.indisvalid, i.indkey, i.indoption,
			i.indcollation, i.indclass, i.indnullsnotdistinct, i.indkey[0] AS first FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
			WHERE c.relname IN ('p', 'c') ORDER BY 1`,
		"SELECT conname, contype FROM pg_constraint WHERE conrelid IN ('p'::regclass, 'c'::regclass) ORDER BY 1",
		"SELECT relname, relkind, relhasindex FROM pg_class WHERE relname IN ('p', 'c') ORDER BY 1",
		`SELECT c.relname, am.amname, pg_get_indexdef(c.oid, 1, true) AS first, pg_get_indexdef(c.oid, 0, true) AS whole,
			obj_description(c.oid, 'pg_class') AS said FROM pg_class c JOIN pg_am am ON am.oid = c.relam
			JOIN pg_index i ON i.indexrelid = c.oid WHERE i.indrelid IN ('p'::regclass, 'c'::regclass) ORDER BY 1`,
	}
	for _, sql := range []string{
		"CREATE INDEX ON p (a)", "CREATE INDEX ON p (a)", "CREATE INDEX ON p (a, b DESC, c NULLS FIRST)",
		"CREATE INDEX i ON p (c DESC NULLS LAST) WITH (fillfactor = 70)", "CREATE INDEX i ON c (x)",
		"CREATE UNIQUE INDEX u ON p (b text_pattern_ops) NULLS NOT DISTINCT", "CREATE INDEX h ON c USING hash (y)",
		"CREATE INDEX IF NOT EXISTS h ON p (a)", "CREATE INDEX p ON c (x)", "CREATE INDEX v ON c (x)", "CREATE INDEX ON v (id)",
		"CREATE INDEX ON nosuch (a)", "CREATE INDEX ON p (nosuch)", "CREATE INDEX ON p USING nosuch (a)", "CREATE INDEX ON p (a nosuch_ops)",
		"CREATE UNIQUE INDEX ON c USING hash (x)", "CREATE INDEX ON c USING hash (x, y)", "CREATE INDEX ON c USING hash (x DESC)",
		"CREATE INDEX ON p (a) WITH (fillfactor = 5)", "CREATE INDEX ON p (a) TABLESPACE pg_default", "CREATE INDEX ON p (a, a)",
		"COMMENT ON INDEX i IS 'of c'", "COMMENT ON INDEX p_pkey IS 'the key'", "CREATE TABLE i (x int)",
		"INSERT INTO p VALUES (1, 1, 'x'), (2, 2, 'x')", "INSERT INTO p VALUES (1, 1, 'x'), (2, 2, NULL)", "INSERT INTO p VALUES (3, 3, NULL)",
		"INSERT INTO p VALUES (4, 4, 'x') ON CONFLICT (b) DO UPDATE SET a = 9", "SELECT * FROM p ORDER BY id",
		"INSERT INTO p VALUES (4, 4, 'x') ON CONFLICT ON CONSTRAINT u DO NOTHING", "ALTER TABLE p DROP CONSTRAINT u",
		"DROP INDEX p_pkey", "DROP INDEX p", "DROP INDEX nosuch", "DROP INDEX IF EXISTS nosuch", "ALTER INDEX u RENAME TO w",
		"ALTER INDEX p_pkey RENAME TO pk", "ALTER INDEX nosuch RENAME TO x", "ALTER INDEX w RENAME TO i", "ALTER INDEX IF EXISTS nosuch RENAME TO x",
		"CREATE UNIQUE INDEX z ON p (a)", "CREATE TABLE d (a int REFERENCES p (a))", "REINDEX TABLE p", "REINDEX INDEX i", "REINDEX INDEX nosuch",
		"DROP INDEX z", "DROP INDEX z CASCADE", "DROP TABLE d", "ALTER TABLE p RENAME COLUMN a TO aa",
		"CREATE UNIQUE INDEX k ON c (x)", "ALTER TABLE c ADD CONSTRAINT cpk PRIMARY KEY USING INDEX k", "ALTER TABLE c ADD UNIQUE USING INDEX h",
		"BEGIN", "CREATE INDEX CONCURRENTLY ON p (b)", "ROLLBACK", "BEGIN", "CREATE INDEX gone ON p (b)", "ROLLBACK",
		"CREATE INDEX CONCURRENTLY IF NOT EXISTS now ON p (b)", "DROP INDEX CONCURRENTLY now", "DROP INDEX h, p_aa_idx", "ALTER TABLE p DROP COLUMN c", "DROP INDEX h",
	} {
		w.tell(t, sql)
		for _, ask := range shown {
			w.tell(t, ask)
		}
	}
}
