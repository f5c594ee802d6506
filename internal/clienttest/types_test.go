package clienttest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/testsuite"
)

// TestTypesAsInPostgres: enumerated types are made, shown, altered and dropped as in PostgreSQL, and their labels compare,
// sort and are refused as there.
func TestTypesAsInPostgres(t *testing.T) {
	w := newTwins(t, `CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
		CREATE TABLE p (id int PRIMARY KEY, name text, m mood NOT NULL DEFAULT 'ok', k mood UNIQUE, CHECK (k > 'sad'));
		CREATE TABLE key (m mood PRIMARY KEY, n int); CREATE TABLE texts (i int, a text);
		INSERT INTO p VALUES (1, 'a', 'happy', 'ok'), (2, 'b', 'sad', NULL);
		INSERT INTO texts VALUES (1, 'ok'), (2, 'nope'); CREATE VIEW v AS SELECT id, m FROM p WHERE m > 'sad'`)
	answerOf(t, w.ours.conn, "SET csm.dialect = 'postgres'", nil)
	shown := []string{
		`SELECT t.typname, typlen, typbyval, typtype, typcategory, typdelim, typalign, typstorage, typisdefined, typelem = 0,
			typarray <> 0, typinput::int, typoutput::int FROM pg_type t WHERE typname IN ('mood', 'feeling')
			AND t.typnamespace = 'sql_list'::regnamespace ORDER BY 1`,
		`SELECT t.typname, e.typname = '_' || t.typname, e.typlen, e.typtype, e.typcategory, e.typelem = t.oid
			FROM pg_type t JOIN pg_type e ON e.oid = t.typarray WHERE t.typtype = 'e' AND t.typnamespace = 'sql_list'::regnamespace ORDER BY 1`,
		`SELECT t.typname, enumlabel, enumsortorder FROM pg_enum JOIN pg_type t ON t.oid = enumtypid WHERE t.typnamespace = 'sql_list'::regnamespace ORDER BY 1, 3`,
		`SELECT attname, format_type(atttypid, atttypmod), attlen, attbyval, attalign FROM pg_attribute
			WHERE attrelid IN ('p'::regclass, 'v'::regclass) AND attnum > 0 AND NOT attisdropped ORDER BY attrelid, attnum`,
		`SELECT column_name, data_type, udt_name, column_default FROM information_schema.columns
			WHERE table_name = 'p' ORDER BY ordinal_position`,
		`SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'p'::regclass`,
		`SELECT obj_description(oid, 'pg_type') FROM pg_type WHERE typtype = 'e' AND typnamespace = 'sql_list'::regnamespace ORDER BY typname`,
		"SELECT * FROM v ORDER BY id", "SELECT m, count(*), min(m), max(m) FROM p GROUP BY m ORDER BY m",
	}
	for _, sql := range []string{
		"INSERT INTO p (id, name) VALUES (3, 'c')", "INSERT INTO p VALUES (4, 'd', 'angry')", "INSERT INTO p VALUES (4, 'd', 'ok', 'ok')",
		"INSERT INTO p VALUES (4, 'd', 'ok', 'sad')", "UPDATE p SET m = 'zz'", "UPDATE p SET m = 'sad' WHERE m > 'sad' AND id = 3 RETURNING m, m < 'ok'",
		"SELECT * FROM p WHERE m > 'sad' ORDER BY m DESC, id", "SELECT * FROM p WHERE m = 'nope'", "SELECT * FROM p WHERE m IN ('ok', 'nope')",
		"SELECT * FROM p WHERE 'ok' < m", "SELECT * FROM p WHERE m BETWEEN 'ok' AND 'happy'", "SELECT * FROM p WHERE m NOT IN ('ok', 'sad')",
		"SELECT * FROM p WHERE m > 'ok'::text", "SELECT * FROM p WHERE m > id", "SELECT m = ANY('{sad,ok}'::mood[]) FROM p ORDER BY id",
		"SELECT m = ANY(ARRAY['sad', 'ok']::mood[]) FROM p ORDER BY id", "SELECT ARRAY['sad', 'x']::mood[]", "SELECT 'x'::mood", "SELECT mood 'sad'",
		"SELECT a::mood FROM texts WHERE i = 1", "SELECT a::mood FROM texts", "SELECT CASE WHEN m > 'sad' THEN 'x' ELSE m::text END FROM p ORDER BY id",
		"SELECT coalesce(k, 'happy') FROM p ORDER BY id", "SELECT greatest(m, 'ok'), least(m, 'ok'), nullif(m, 'ok') FROM p ORDER BY id",
		"SELECT m FROM p UNION SELECT 'happy' ORDER BY 1", "SELECT m FROM p UNION ALL SELECT 'nope'", "SELECT * FROM (VALUES ('ok'::mood), ('sad')) x ORDER BY 1",
		"SELECT enum_first(NULL::mood), enum_last(NULL::mood), enum_range(NULL::mood)", "SELECT enum_range('ok'::mood, NULL), enum_range(NULL, 'ok'::mood)",
		"SELECT m, lag(m) OVER (ORDER BY m, id), rank() OVER (ORDER BY m) FROM p ORDER BY id", "SELECT array_agg(m ORDER BY m, id) FROM p",
		"SELECT (m, id) > ('ok', 1) FROM p ORDER BY id", "SELECT m::text || '!', concat(m, '-') FROM p ORDER BY id", "SELECT to_json(m) FROM p ORDER BY id",
		"SELECT pg_typeof(m), pg_typeof(ARRAY[m]), pg_typeof(NULL::mood) FROM p WHERE id = 1", "SELECT * FROM (SELECT m AS x FROM p) s WHERE x >= 'ok' ORDER BY 1",
		"WITH q AS (SELECT m FROM p) SELECT * FROM q WHERE m <> 'sad'", "SELECT * FROM p JOIN p q USING (m) ORDER BY 1, 2, 5",
		"SELECT count(*) FILTER (WHERE m = 'sad') FROM p", "SELECT m FROM p ORDER BY CASE m WHEN 'sad' THEN 3 ELSE 1 END, id",
		"SELECT exists (SELECT 1 FROM p WHERE m > 'ok'), (SELECT max(m) FROM p) = 'happy'", "SELECT * FROM p WHERE m = (SELECT max(m) FROM p)",
		"INSERT INTO key VALUES ('sad', 1), ('happy', 2)", "INSERT INTO key VALUES ('sad', 1)", "INSERT INTO key VALUES ('sad', 3) ON CONFLICT DO NOTHING",
		"INSERT INTO key VALUES ('happy', 4), ('ok', 5) ON CONFLICT (m) DO UPDATE SET n = 6 WHERE key.m > 'ok' RETURNING m, n, key.m > 'ok' AS more",
		"MERGE INTO key USING (VALUES ('sad'::mood, 10), ('ok', 11)) s(m, n) ON key.m = s.m WHEN MATCHED AND key.m < 'ok' THEN UPDATE SET n = s.n",
		"DELETE FROM key WHERE m > 'ok' RETURNING m", "SELECT * FROM key ORDER BY m", "CREATE TABLE child (m mood REFERENCES key)",
		"INSERT INTO child VALUES ('happy')", "INSERT INTO child VALUES ('ok')", "DELETE FROM key WHERE m = 'ok'",
		"CREATE TEMP TABLE mine (id int, m mood)", "INSERT INTO mine SELECT id, m FROM p", "UPDATE mine SET id = id + 10 WHERE m > 'sad'", "SELECT * FROM mine WHERE m < 'happy' ORDER BY id",
		"DROP TABLE mine", "CREATE TABLE copied AS SELECT m FROM p", "SELECT * FROM copied ORDER BY m", "DROP TABLE copied",
		"ALTER TABLE p ADD COLUMN e mood DEFAULT 'happy'", "SELECT e FROM p ORDER BY id", "ALTER TABLE p ALTER e SET DEFAULT 'w'",
		"ALTER TABLE p ADD CONSTRAINT ck CHECK (e >= 'ok')", "UPDATE p SET e = 'sad'", "ALTER TABLE p DROP COLUMN e",
		"ALTER TABLE texts ALTER a TYPE mood USING a::mood", "DELETE FROM texts WHERE a = 'nope'", "ALTER TABLE texts ALTER a TYPE mood",
		"ALTER TABLE texts ALTER a TYPE mood USING a::mood", "SELECT * FROM texts WHERE a > 'sad'", "ALTER TABLE texts ALTER a TYPE text", "SELECT a || '' FROM texts",
		"ALTER TYPE mood ADD VALUE 'great'", "ALTER TYPE mood ADD VALUE 'meh' BEFORE 'ok'", "ALTER TYPE mood ADD VALUE 'fine' AFTER 'ok'", "ALTER TYPE mood ADD VALUE 'ok'",
		"ALTER TYPE mood ADD VALUE 'first' BEFORE 'sad'", "ALTER TYPE mood ADD VALUE 'x' BEFORE 'nosuch'", "ALTER TYPE nosuch ADD VALUE 'x'",
		"INSERT INTO p VALUES (10, 'k', 'meh', 'great'), (11, 'l', 'first', 'fine')", "SELECT id, m FROM p WHERE m < 'ok' ORDER BY m, id", "SELECT id, k FROM p WHERE k > 'ok' ORDER BY k",
		"ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'", "ALTER TYPE mood RENAME VALUE 'nosuch' TO 'x'", "ALTER TYPE mood RENAME VALUE 'ok' TO 'meh'",
		"INSERT INTO p VALUES (12, 'm', 'blue', 'blue')", "SELECT id, m FROM p WHERE m = 'blue' ORDER BY id", "SELECT 'sad'::mood",
		"ALTER TYPE mood RENAME VALUE 'ok' TO 'it''s ok'", "INSERT INTO p (id) VALUES (13)", "SELECT m FROM p WHERE id = 13",
		"ALTER TYPE mood RENAME TO feeling", "SELECT NULL::mood", "SELECT 'blue'::feeling", "COMMENT ON TYPE feeling IS 'how one feels'",
		"CREATE TYPE one AS ENUM ('x')", "CREATE TABLE uses (o one)", "DROP TYPE one", "DROP TABLE uses", "DROP TYPE one", "DROP TYPE IF EXISTS nosuch", "DROP TYPE nosuch", "CREATE TYPE feeling AS ENUM ('a')", "CREATE TYPE p AS ENUM ('a')", "CREATE TABLE feeling (i int)",
		"CREATE TYPE twice AS ENUM ('a', 'a')", "CREATE TYPE nothing AS ENUM ()", "SELECT enum_range(NULL::nothing)", "SELECT enum_first(NULL::nothing)",
		"CREATE TYPE toolong AS ENUM ('0123456789012345678901234567890123456789012345678901234567890123')", "CREATE SCHEMA other", "CREATE TYPE other.mood AS ENUM ('z')",
		"SELECT 'z'::other.mood, 'blue'::feeling", "ALTER TYPE feeling SET SCHEMA other", "SELECT 'blue'::feeling", "SELECT 'blue'::other.feeling", "ALTER TYPE other.feeling SET SCHEMA public",
		"DROP SCHEMA other", "DROP SCHEMA other CASCADE", "DROP TABLE p CASCADE", "DROP TABLE child, key", "DROP TYPE feeling", "SELECT 'blue'::feeling",
		"DROP TYPE nothing",
	} {
		w.tell(t, sql)
		if len(sql) > 10 && (sql[:10] == "ALTER TYPE" || sql[:10] == "COMMENT ON" || sql[:10] == "CREATE TYP") {
			for _, ask := range shown {
				w.tell(t, ask)
			}
		}
	}
}

// TestAlteredTypesAsInPostgres plays random changes of a type between changes of rows, and asks both for them by its
// order (EN1).
func TestAlteredTypesAsInPostgres(t *testing.T) {
	seed := uint64(os.Getpid())
	if given, err := strconv.ParseUint(os.Getenv("CSMSQL_SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("CSMSQL_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 11))
	w := newTwins(t, `CREATE TYPE e AS ENUM ('l0'); CREATE TABLE r (i int, e e, d e DEFAULT 'l0', CHECK (e >= 'l0' OR e < 'l0'));
		CREATE TABLE key (e e PRIMARY KEY, i int); CREATE VIEW v AS SELECT * FROM r WHERE e >= 'l0'`)
	answerOf(t, w.ours.conn, "SET csm.dialect = 'postgres'", nil)
	labels, made, rows := []string{"l0"}, 1, 0
	any := func() string { return labels[rng.IntN(len(labels))] }
	for range 100 * testsuite.Effort() {
		switch rng.IntN(12) {
		case 0, 1:
			where := []string{"", " BEFORE '" + any() + "'", " AFTER '" + any() + "'"}[rng.IntN(3)]
			label := fmt.Sprint("n", made)
			w.tell(t, "ALTER TYPE e ADD VALUE '"+label+"'"+where)
			labels, made = append(labels, label), made+1
		case 2:
			i := rng.IntN(len(labels))
			label := fmt.Sprint("m", made)
			w.tell(t, "ALTER TYPE e RENAME VALUE '"+labels[i]+"' TO '"+label+"'")
			labels[i], made = label, made+1
		case 3, 4, 5:
			rows++
			w.tell(t, fmt.Sprintf("INSERT INTO r (i, e) SELECT %d + g, CASE WHEN g %% 3 = 0 THEN NULL ELSE '%s'::e END FROM generate_series(1, %d) g",
				rows*100, any(), 1+rng.IntN(40)))
		case 6:
			w.tell(t, fmt.Sprintf("UPDATE r SET e = '%s' WHERE e %s '%s'", any(), []string{"<", ">", "="}[rng.IntN(3)], any()))
		case 7:
			w.tell(t, fmt.Sprintf("DELETE FROM r WHERE e = '%s' AND i %% 2 = 0", any()))
		case 8:
			w.tell(t, fmt.Sprintf("INSERT INTO key VALUES ('%s', %d) ON CONFLICT (e) DO UPDATE SET i = excluded.i WHERE key.e > '%s'", any(), made, any()))
		case 9:
			w.tell(t, fmt.Sprintf("SELECT * FROM v WHERE e < '%s' ORDER BY e, i", any()))
		case 10:
			w.tell(t, fmt.Sprintf("SELECT r.i, key.i FROM r JOIN key USING (e) WHERE key.e >= '%s' ORDER BY 1", any()))
		case 11:
			w.tell(t, "SELECT e, d, count(*), min(e), max(i) FROM r GROUP BY e, d ORDER BY e DESC, d")
		}
	}
	w.tell(t, "SELECT enumlabel FROM pg_enum WHERE enumtypid = 'e'::regtype ORDER BY enumsortorder")
	w.tell(t, "SELECT * FROM r ORDER BY e, i")
}

// TestTypesOfDrivers: a driver finds a type and its labels, and sends and receives them and arrays of them in its
// binary format.
func TestTypesOfDrivers(t *testing.T) {
	ctx := t.Context()
	for name, dsn := range map[string]string{"csmsql": shared.dsn(), "PostgreSQL": startPostgres(t)} {
		conn, err := pgx.Connect(ctx, dsn)
		require.NoError(t, err, name)
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, `DROP SCHEMA IF EXISTS drivers CASCADE; CREATE SCHEMA drivers; SET search_path = drivers;
			CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE TABLE p (i int, m mood, PRIMARY KEY (m))`)
		require.NoError(t, err, name)
		for _, typ := range []string{"mood", "_mood"} {
			loaded, err := conn.LoadType(ctx, typ)
			require.NoError(t, err, name)
			conn.TypeMap().RegisterType(loaded)
		}
		for i, label := range []string{"happy", "sad"} {
			_, err = conn.Exec(ctx, "INSERT INTO p VALUES ($1, $2)", i, label)
			require.NoError(t, err, name)
		}
		_, err = conn.CopyFrom(ctx, pgx.Identifier{"p"}, []string{"i", "m"}, pgx.CopyFromRows([][]any{{9, "ok"}}))
		require.NoError(t, err, name)
		var labels []string
		var last string
		require.NoError(t, conn.QueryRow(ctx, "SELECT array_agg(m ORDER BY m), max(m) FROM p WHERE m = ANY($1)", []string{"happy", "sad", "ok"}).
			Scan(&labels, &last), name)
		require.Equal(t, []string{"sad", "ok", "happy"}, labels, name)
		require.Equal(t, "happy", last, name)
		var i int
		require.NoError(t, conn.QueryRow(ctx, "SELECT i FROM p WHERE m > $1", "ok").Scan(&i), name)
		require.Zero(t, i, name)
		_, err = conn.Exec(ctx, "INSERT INTO p VALUES (1, $1)", "angry")
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, "22P02", refused.Code, name)
		require.Equal(t, `invalid input value for enum mood: "angry"`, refused.Message, name)
		var oid, byName uint32
		require.NoError(t, conn.QueryRow(ctx, `SELECT t.oid, to_regtype('drivers.mood')::oid FROM pg_type t
			WHERE t.oid = to_regtype('mood')`).Scan(&oid, &byName), name)
		require.Equal(t, oid, byName, name)
		_, err = conn.Exec(ctx, "DROP SCHEMA drivers CASCADE")
		require.NoError(t, err, name)
	}
}
