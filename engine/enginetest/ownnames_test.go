package enginetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// ownNames ask for what makeOwnNames makes, in all the words in which names reach DuckDB.
var ownNames = []string{
	"FROM mine", "FROM mine SELECT a, w", "SELECT * FROM mine", "SELECT * FROM shown", "FROM shown", "FROM public.mine", "FROM aside.t", "SELECT * FROM aside.w",
	"FROM csmsql.public.mine", "FROM csmsql.public.mine SELECT csmsql.public.mine.a", "FROM csmsql.aside.w",
	"SUMMARIZE mine", "SUMMARIZE SELECT a FROM shown", "DESCRIBE mine", "DESCRIBE SELECT * FROM shown", "SHOW TABLES",
	"PIVOT mine ON a IN (1, 2) USING count(*)", "FROM (PIVOT mine ON w IN ('x', 'y') USING sum(a))", "UNPIVOT shown ON a",
	"FROM query_table('mine')", "SELECT name, type FROM pragma_table_info('mine')", "SELECT (FROM shown SELECT max(a)) AS m, n FROM base",
	"FROM v", "SELECT * FROM v", "FROM over_v", "FROM base", "FROM old_base", "FROM changed", "SELECT count(*) AS n FROM changed", "FROM nowhere", "SELECT * FROM dropped", "FROM dropped", "FROM dropped_view",
	"WITH c AS (FROM mine) FROM c", "SELECT relname FROM pg_class WHERE relname IN ('mine', 'shown', 'dropped', 'v') ORDER BY 1",
	"SELECT table_name FROM information_schema.tables WHERE table_schema IN ('public', 'aside') ORDER BY 1",
}

// makeOwnNames are what a block does where before made something.
var before = []string{
	"CREATE TABLE base AS SELECT 1 AS n", "CREATE TABLE old_name AS SELECT 5 AS o", "CREATE VIEW v AS SELECT n FROM base", "CREATE VIEW over_v AS SELECT * FROM v",
	"CREATE TABLE dropped AS SELECT 1 AS a", "CREATE VIEW dropped_view AS SELECT 1 AS a", "CREATE TABLE changed AS SELECT 1 AS a",
}
var makeOwnNames = []string{
	"CREATE TABLE mine (a INTEGER, w TEXT)", "INSERT INTO mine VALUES (1, 'x'), (2, 'y'), (2, NULL)", "CREATE VIEW shown AS SELECT a FROM mine WHERE a > 1",
	"CREATE SCHEMA aside", "CREATE TABLE aside.t AS SELECT 7 AS z", "CREATE VIEW aside.w AS SELECT z + 1 AS z FROM aside.t",
	"CREATE OR REPLACE VIEW v AS SELECT 'new' AS other, 4 AS n, a FROM shown", "ALTER TABLE old_name RENAME TO old_base", "DROP TABLE dropped", "DROP VIEW dropped_view",
	"CREATE OR REPLACE TABLE changed AS SELECT 'z' AS b, 2 AS c", "INSERT INTO base VALUES (2)",
}

// E1: what a block made, replaced and dropped has in the block the meaning that it has after COMMIT, in every parser;
// for others, and after ROLLBACK, it never was.
func TestNamesMadeInABlock(t *testing.T) {
	e := openEngine(t)
	s, other := openSession(t, e), openSession(t, e)
	for _, sql := range before {
		s.must(t, sql)
	}
	asked := func(who *lent, sql string) outcome { return who.query(sql, nil).sorted() }
	for _, who := range []*lent{s, other} { // SHOW TABLES shows what the system catalogs are kept in from the first such question on
		who.ask(t, "SELECT count(*) AS n FROM pg_class")
	}
	was := map[string]outcome{}
	for _, sql := range ownNames {
		was[sql] = asked(other, sql)
	}
	require.Equal(t, "42P01", was["FROM mine"].state)
	// An error ends the block, so that each question that fails has a block of its own.
	block := func() {
		s.must(t, "BEGIN")
		for _, sql := range makeOwnNames {
			s.must(t, sql)
		}
	}
	is := map[string]outcome{}
	block()
	for _, sql := range ownNames {
		is[sql] = asked(s, sql)
		require.Equal(t, was[sql], asked(other, sql), "others: %s", sql)
		if is[sql].state != "" {
			require.Equal(t, "42P01", is[sql].state, "%s: %s", sql, is[sql].message)
			s.must(t, "ROLLBACK")
			require.Equal(t, was[sql], asked(s, sql), "after ROLLBACK: %s", sql)
			block()
		}
	}
	require.Equal(t, []string{"1 | x", "2 | NULL", "2 | y"}, is["FROM mine"].rows)
	require.Equal(t, []string{"new | 4 | 2", "new | 4 | 2"}, is["FROM v"].rows)
	require.Equal(t, []string{"4", "4"}, is["FROM over_v"].rows, "of the columns that it had")
	require.Equal(t, "42P01", is["FROM dropped_view"].state)
	require.Empty(t, other.ask(t, "SELECT view_name FROM duckdb_views() WHERE view_name IN ('mine', 'shown')"), "no trace for others")
	s.must(t, "COMMIT")
	for _, sql := range ownNames {
		for _, who := range []*lent{s, other} {
			after := asked(who, sql)
			require.Equal(t, is[sql].state, after.state, "after COMMIT: %s: %s", sql, after.message)
			require.Equal(t, is[sql].rows, after.rows, "after COMMIT: %s", sql)
			require.Equal(t, is[sql].columns, after.columns, "after COMMIT: %s", sql)
		}
	}
	require.Empty(t, other.ask(t, "SELECT database_name FROM duckdb_databases() WHERE database_name LIKE 'csm\\_block%' ESCAPE '\\'"), "no database stays behind")
}

// A plan that was made over a block's own names does not outlive them, nor do they live on for its sake.
func TestPlansOverOwnNames(t *testing.T) {
	e := openEngine(t)
	s := openSession(t, e)
	s.must(t, "BEGIN; CREATE TABLE mine AS SELECT 1 AS a")
	kept, err := s.session.Prepare(context.Background(), "FROM mine")
	require.NoError(t, err)
	defer kept.Close()
	run := func() outcome { return collected(kept.Query(context.Background())) }
	require.Equal(t, []string{"1"}, run().rows)
	s.must(t, "INSERT INTO mine VALUES (2)")
	require.Equal(t, []string{"1", "2"}, run().rows)
	s.must(t, "ROLLBACK")
	require.Equal(t, "42P01", run().state)
	s.must(t, "CREATE TABLE mine AS SELECT 3 AS a")
	require.Equal(t, []string{"3"}, run().rows)
	s.must(t, "BEGIN; CREATE OR REPLACE TABLE mine AS SELECT 4 AS a; FROM mine")
	require.Equal(t, []string{"4"}, run().rows)
	s.must(t, "COMMIT")
	require.Equal(t, []string{"4"}, run().rows)
	s.must(t, "BEGIN; DROP TABLE mine")
	require.Equal(t, "42P01", run().state)
}

// Temporary objects and settings live on beside a block's names, whichever way it ends.
func TestTemporaryBesideOwnNames(t *testing.T) {
	e := openEngine(t)
	s := openSession(t, e)
	s.must(t, "CREATE TEMP TABLE kept AS SELECT 9 AS a")
	for _, c := range []struct{ end, temporary string }{{"ROLLBACK", "42P01"}, {"COMMIT", ""}} {
		s.must(t, "BEGIN; CREATE SCHEMA aside; CREATE TABLE aside.mine AS SELECT 1 AS a; SET search_path = aside, public")
		require.Equal(t, []string{"1"}, s.ask(t, "FROM mine"))
		s.must(t, "CREATE TEMP TABLE temporary AS FROM mine")
		require.Equal(t, []string{"1"}, s.ask(t, "FROM temporary"))
		require.Equal(t, []string{"9"}, s.ask(t, "FROM kept"))
		s.must(t, "SET search_path = public")
		require.Equal(t, []string{"public"}, s.ask(t, "FROM aside.mine SELECT current_schema()"))
		s.must(t, c.end)
		require.Equal(t, c.temporary, s.query("FROM temporary", nil).state)
		require.Equal(t, []string{"9"}, s.ask(t, "FROM kept"))
		require.Equal(t, []string{"csmsql | public"}, s.ask(t, "SELECT current_database() AS d, current_schema() AS s"))
	}
	require.Equal(t, []string{"1"}, s.ask(t, "FROM aside.mine"))
}

// naming is what names mean: the number that a table or view shows, by name.
type naming map[string]int

// Against a model: random blocks of two sessions that make, replace, rename and drop, each seeing its own and only its own.
func TestOwnNamesModel(t *testing.T) {
	e := openEngine(t)
	sessions := []*lent{openSession(t, e), openSession(t, e)}
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		schema := fmt.Sprintf("s%d", round) // a namespace for each round: nothing is left over
		sessions[0].must(t, "CREATE SCHEMA "+schema)
		shared, value := naming{}, 0
		for range rapid.IntRange(1, 4).Draw(r, "blocks") {
			who := sessions[rapid.IntRange(0, 1).Draw(r, "session")]
			other := sessions[0]
			if other == who {
				other = sessions[1]
			}
			who.must(t, "BEGIN")
			own := naming{}
			for name, n := range shared {
				own[name] = n
			}
			for range rapid.IntRange(1, 5).Draw(r, "changes") {
				value++
				own.change(t, r, who, schema, value)
				name := rapid.SampledFrom([]string{"t", "u", "v"}).Draw(r, "asked")
				if _, there := own[name]; there || rapid.IntRange(0, 3).Draw(r, "risk") == 0 {
					own.holds(t, who, schema, name)
					if !there {
						break // the block has failed
					}
				}
				shared.holds(t, other, schema, name)
			}
			if who.session.Status() == 'T' && rapid.Bool().Draw(r, "commit") {
				who.must(t, "COMMIT")
				shared = own
			} else {
				who.must(t, "ROLLBACK")
			}
			for _, name := range []string{"t", "u", "v"} {
				shared.holds(t, who, schema, name)
				shared.holds(t, other, schema, name)
			}
		}
		sessions[0].must(t, "DROP SCHEMA "+schema+" CASCADE")
	})
}

// change does something that succeeds to one of the names; v is a view.
func (n naming) change(t *testing.T, r *rapid.T, who *lent, schema string, value int) {
	name := rapid.SampledFrom([]string{"t", "u", "v"}).Draw(r, "name")
	kind := "TABLE"
	if name == "v" {
		kind = "VIEW"
	}
	_, there := n[name]
	made := fmt.Sprintf("%s %s.%s AS SELECT %d AS c%d", kind, schema, name, value, value%3)
	changes := []string{"CREATE " + made}
	if there {
		changes = []string{"CREATE OR REPLACE " + made, "DROP " + kind + " " + schema + "." + name}
		if free := slices.DeleteFunc([]string{"t", "u"}, func(s string) bool { _, taken := n[s]; return taken }); kind == "TABLE" && len(free) > 0 {
			changes = append(changes, fmt.Sprintf("ALTER TABLE %s.%s RENAME TO %s", schema, name, free[0]))
		}
	}
	sql := rapid.SampledFrom(changes).Draw(r, "change")
	who.must(t, sql)
	switch sql[0] {
	case 'D':
		delete(n, name)
	case 'A':
		n[map[string]string{"t": "u", "u": "t"}[name]] = n[name]
		delete(n, name)
	default:
		n[name] = value
	}
}

func (n naming) holds(t *testing.T, who *lent, schema, name string) {
	t.Helper()
	for _, sql := range []string{"FROM %s.%s", "SELECT * FROM %s.%s"} {
		o := who.query(fmt.Sprintf(sql, schema, name), nil)
		if want, there := n[name]; there {
			require.Equal(t, []string{fmt.Sprint(want)}, o.rows, "%s: %s", name, o.message)
		} else {
			require.Equal(t, "42P01", o.state, name)
			if who.session.Status() == 'E' {
				return
			}
		}
	}
}
