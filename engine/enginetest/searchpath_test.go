package enginetest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pathForms ask for the table integers (i) of the values 1 and 2, and the view evens over it, by bare names, in words that only DuckDB's
// parser reads and in such that PostgreSQL's reads as well.
var pathForms = []struct {
	sql  string
	want []string
}{
	{"SELECT i FROM integers ORDER BY i", []string{"1", "2"}},
	{"FROM integers ORDER BY i", []string{"1", "2"}},
	{"FROM evens", []string{"2"}},
	{"DESCRIBE integers", []string{"i | INTEGER | YES | NULL | NULL | NULL"}},
	{"SELECT column_name FROM (DESCRIBE evens)", []string{"i"}},
	{"SELECT min FROM (SUMMARIZE integers)", []string{"1"}},
	{"SELECT * EXCLUDE (j) FROM (SELECT *, 1 AS j FROM integers) ORDER BY i", []string{"1", "2"}},
	{"SELECT * REPLACE (i * 10 AS i) FROM integers ORDER BY i", []string{"10", "20"}},
	{"PIVOT integers ON i IN (1, 2) USING count(*)", []string{"1 | 1"}},
	{"PIVOT integers ON i USING count(*)", []string{"1 | 1"}},
	{"UNPIVOT evens ON i", []string{"i | 2"}},
	{"SELECT i, count(*) AS n FROM integers GROUP BY ALL ORDER BY ALL", []string{"1 | 1", "2 | 1"}},
	{"SELECT list_transform(list(i ORDER BY i), lambda x : x + 1) AS l FROM integers", []string{"[2, 3]"}},
	{"SELECT [x * 2 FOR x IN (SELECT list(i ORDER BY i) FROM integers)] AS l", []string{"[2, 4]"}},
	{"FROM integers SELECT i QUALIFY row_number() OVER (ORDER BY i) = 2", []string{"2"}},
	{"FROM query_table('integers') ORDER BY i", []string{"1", "2"}},
	{"SELECT name FROM pragma_table_info('integers')", []string{"i"}},
	{"SELECT count(*) AS n FROM integers POSITIONAL JOIN evens", []string{"2"}},
	{"WITH c AS (FROM integers) FROM c ORDER BY i", []string{"1", "2"}},
}

// pathSituations bring a session to where integers and evens are found by search_path; each statement is a message of its own. "other:"
// before one has another session say it.
var pathSituations = []struct {
	name string
	say  []string
}{
	{name: "the schema is made, set, filled", say: []string{"CREATE SCHEMA s1", "SET search_path = s1", "MAKE"}},
	{name: "the schema is set before it is made", say: []string{"SET search_path = s2", "CREATE SCHEMA s2", "MAKE"}},
	{name: "another session makes the schema after SET", say: []string{"SET search_path = s3", "other: CREATE SCHEMA s3", "MAKE"}},
	{name: "another session makes everything after SET", say: []string{"SET search_path = s4", "other: CREATE SCHEMA s4; SET search_path = s4", "other: MAKE"}},
	{name: "dropped and made again", say: []string{"CREATE SCHEMA s5", "SET search_path = s5", "MAKE", "FROM integers", "DROP SCHEMA s5 CASCADE", "CREATE SCHEMA s5", "MAKE"}},
	{name: "dropped and made again by another session", say: []string{"CREATE SCHEMA s6", "SET search_path = s6", "MAKE", "FROM integers",
		"other: DROP SCHEMA s6 CASCADE", "other: CREATE SCHEMA s6; SET search_path = s6", "other: MAKE"}},
	{name: "several entries, the first without a schema", say: []string{"SET search_path = nowhere, s7, public", "CREATE SCHEMA s7", "MAKE"}},
	{name: "several entries, the first made later", say: []string{"CREATE TABLE public.integers AS SELECT 99 AS i", "SET search_path = s8, public", "CREATE SCHEMA s8", "MAKE"}},
	{name: "quoted and mixed case", say: []string{`SET search_path = "S 9.x", public`, `CREATE SCHEMA "S 9.x"`, "MAKE"}},
	{name: "a word in quotes that needs them", say: []string{`SET search_path TO "select"`, `CREATE SCHEMA "select"`, "MAKE"}},
	{name: "a comma and a quote in a name", say: []string{`CREATE SCHEMA "a,b""c d"`, `SET search_path TO "a,b""c d"`, "MAKE"}},
	{name: "the user's schema", say: []string{`SET search_path = "$user", public`, "CREATE SCHEMA postgres", "MAKE", "DROP TABLE IF EXISTS public.integers"}},
	{name: "pg_catalog first", say: []string{"SET search_path = pg_catalog, s10", "CREATE SCHEMA s10", "MAKE"}},
	{name: "pg_catalog last", say: []string{"SET search_path = s11, pg_catalog", "CREATE SCHEMA s11", "MAKE"}},
	{name: "in a block", say: []string{"BEGIN", "CREATE SCHEMA s12", "SET search_path = s12", "MAKE"}},
	{name: "in a block, set first", say: []string{"SET search_path = s13", "BEGIN", "CREATE SCHEMA s13", "MAKE"}},
	{name: "in a block, the table only", say: []string{"CREATE SCHEMA s14", "SET search_path = s14", "BEGIN", "MAKE"}},
	{name: "after the block", say: []string{"BEGIN", "CREATE SCHEMA s15", "SET search_path = s15", "MAKE", "COMMIT"}},
	{name: "made again after ROLLBACK", say: []string{"SET search_path = s16", "BEGIN", "CREATE SCHEMA s16", "MAKE", "FROM integers", "ROLLBACK", "CREATE SCHEMA s16", "MAKE"}},
	{name: "SET is rolled back", say: []string{"CREATE SCHEMA s17", "CREATE SCHEMA s17b", "SET search_path = s17", "MAKE", "BEGIN", "SET search_path = s17b", "ROLLBACK"}},
	{name: "SET is rolled back to a savepoint", say: []string{"CREATE SCHEMA s18", "CREATE SCHEMA s18b", "SET search_path = s18", "MAKE", "BEGIN", "SAVEPOINT a", "SET search_path = s18b",
		"CREATE TABLE integers (z text)", "ROLLBACK TO a"}},
	{name: "made by another session after BEGIN and SET", say: []string{"SET search_path = s27", "BEGIN", "SET search_path = s27", "SET TimeZone = 'UTC'",
		"other: CREATE SCHEMA s27; SET search_path = s27", "other: MAKE"}},
	{name: "SET LOCAL ends", say: []string{"CREATE SCHEMA s19", "SET search_path = s19", "MAKE", "BEGIN", "SET LOCAL search_path = public", "COMMIT"}},
	{name: "a schema of the block is gone", say: []string{"CREATE SCHEMA s20", "SET search_path = s20b, s20", "MAKE", "BEGIN", "CREATE SCHEMA s20b", "CREATE TABLE s20b.integers AS SELECT 5 AS i", "FROM integers", "ROLLBACK"}},
	{name: "a temporary object began the block", say: []string{"SET search_path = s21", "BEGIN", "CREATE TEMP TABLE aside AS SELECT 1 AS a", "CREATE SCHEMA s21", "MAKE"}},
	{name: "temporary objects hide", say: []string{"CREATE SCHEMA s22", "SET search_path = s22", "CREATE TEMP TABLE integers AS SELECT 1::INTEGER AS i UNION ALL SELECT 2", "CREATE TEMP VIEW evens AS FROM integers WHERE i % 2 = 0"}},
	{name: "RESET", say: []string{"CREATE SCHEMA s24", "SET search_path = s24", "RESET search_path", "MAKE"}},
	{name: "DISCARD ALL", say: []string{"CREATE SCHEMA s25", "SET search_path = s25", "DISCARD ALL", "MAKE"}},
}

// What DuckDB alone reads finds tables and views by search_path as what PostgreSQL reads does, whenever the path, the schemas and what is in
// them were made, and by whom.
func TestSearchPathReachesDuckDB(t *testing.T) {
	for _, situation := range pathSituations {
		t.Run(situation.name, func(t *testing.T) {
			e := openEngine(t)
			s, other := openSession(t, e), openSession(t, e)
			for _, sql := range situation.say {
				who := s
				if text, ok := strings.CutPrefix(sql, "other: "); ok {
					who, sql = other, text
				}
				if sql != "MAKE" {
					who.must(t, sql)
					continue
				}
				for _, make := range []string{"CREATE TABLE integers (i INTEGER)", "INSERT INTO integers VALUES (1), (2)", "CREATE VIEW evens AS SELECT i FROM integers WHERE i % 2 = 0"} {
					who.must(t, make)
				}
			}
			for _, form := range pathForms {
				o := s.query(form.sql, nil)
				if o.state != "" {
					t.Errorf("%s: %s %s", form.sql, o.state, o.message)
					return // in a block nothing else would work
				}
				require.Equal(t, form.want, o.rows, form.sql)
			}
		})
	}
}

// A prepared statement is replanned when the path leads elsewhere.
func TestSearchPathAndPlans(t *testing.T) {
	e := openEngine(t)
	s, other := openSession(t, e), openSession(t, e)
	s.must(t, "CREATE TABLE public.integers AS SELECT 99 AS i; SET search_path = later, public")
	prepared, err := s.session.Prepare(context.Background(), "FROM integers")
	require.NoError(t, err)
	defer prepared.Close()
	run := func() []string { return collected(prepared.Query(context.Background())).rows }
	require.Equal(t, []string{"99"}, run())
	other.must(t, "CREATE SCHEMA later; CREATE TABLE later.integers AS SELECT 1 AS i")
	require.Equal(t, []string{"1"}, run())
	other.must(t, "DROP SCHEMA later CASCADE")
	require.Equal(t, []string{"99"}, run())
	s.must(t, "SET search_path = public, later")
	other.must(t, "CREATE SCHEMA later; CREATE TABLE later.integers AS SELECT 1 AS i")
	require.Equal(t, []string{"99"}, run())
}
