package clienttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/internal/testsuite"
)

// twins are csmsql and PostgreSQL, which run the same statements.
type twins struct {
	ours, theirs *room
	statements   []string // since the tables were made
	refused      int
	otherwise    int                            // refused for another one of several reasons
	early        func(ours, theirs string) bool // PostgreSQL refuses what is in order when the statement ends; may be nil
}

func newTwins(t *testing.T, setup string) *twins {
	t.Helper()
	return &twins{ours: newRoom(t, shared.dsn(), setup), theirs: newRoom(t, startPostgres(t), setup)}
}

// tell runs a statement in both, with parameters if there are any, and wants the same of both: rows, the tag, or an
// error's state, message and detail.
func (w *twins) tell(t *testing.T, sql string, args ...string) (ours string) {
	t.Helper()
	w.statements = append(w.statements, fmt.Sprint(sql, args))
	ours, theirs := answerOf(t, w.ours.conn, sql, args), answerOf(t, w.theirs.conn, sql, args)
	if w.early != nil && w.early(ours, theirs) {
		return atEnd
	}
	w.same(t, sql, args, ours, theirs)
	return ours
}

// same wants the same of both, or errors of the same kind.
func (w *twins) same(t *testing.T, sql string, args []string, ours, theirs string) {
	t.Helper()
	if refused.MatchString(ours) {
		w.refused++
	}
	if ours != theirs && refused.MatchString(ours) && refused.MatchString(theirs) {
		if ours[:5] == theirs[:5] && (ours[:5] == "42702" || ours[:5] == "22003") {
			return // in DuckDB's words
		} // else the statement breaks several rules
		w.otherwise++
		require.Less(t, w.otherwise, 10+w.refused/10, "%s\n%s\n%s", sql, ours, theirs)
		return
	}
	if ours != theirs {
		require.Equal(t, theirs, ours, "%s %q, after\n%s", sql, args, strings.Join(w.statements, ";\n"))
	}
}

// atEnd is the outcome of a statement that PostgreSQL refuses because of what it was in the midst of, and that is done here.
const atEnd = "at its end"

// refused is an error about the rows of a statement, or about what it says.
var refused = regexp.MustCompile(`^(2[123]|42)...(\||$)`)

func answerOf(t *testing.T, conn *pgconn.PgConn, sql string, args []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var result *pgconn.Result
	if args == nil {
		results, err := conn.Exec(ctx, sql).ReadAll()
		if err != nil {
			return refusalOf(t, sql, err)
		}
		result = results[len(results)-1]
	} else {
		values := make([][]byte, len(args))
		for i, a := range args {
			if a != "NULL" {
				values[i] = []byte(a)
			}
		}
		if result = conn.ExecParams(ctx, sql, values, nil, nil, nil).Read(); result.Err != nil {
			return refusalOf(t, sql, result.Err)
		}
	}
	lines := []string{result.CommandTag.String()}
	for _, row := range result.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			if cells[i] = string(v); v == nil {
				cells[i] = "NULL"
			}
		}
		lines = append(lines, strings.Join(cells, "|"))
	}
	return strings.Join(lines, "\n")
}

func refusalOf(t *testing.T, sql string, err error) string {
	t.Helper()
	var e *pgconn.PgError
	require.True(t, errors.As(err, &e), "%s: %v", sql, err)
	if e.Code == "23502" || e.Code == "23514" { // whose row is shown where more is known of it
		return e.Code
	}
	return strings.Join([]string{e.Code, e.Message, e.Detail, e.TableName, e.ConstraintName}, "|")
}

const conflictTables = `CREATE TABLE one (k int PRIMARY KEY, v text DEFAULT 'none', n int DEFAULT 7 CHECK (n < 60));
	CREATE TABLE two (a int, b varchar(3), c text NOT NULL DEFAULT 'c', d numeric(6,2), UNIQUE (a, b), CONSTRAINT apart UNIQUE NULLS NOT DISTINCT (d));
	CREATE TABLE source (k int, v text, n int)`

// TestOnConflictAsInPostgres: random statements with ON CONFLICT do what they do in PostgreSQL (OX2).
func TestOnConflictAsInPostgres(t *testing.T) {
	w := newTwins(t, conflictTables)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := &conflictGenerator{rand.New(rand.NewPCG(seed, 1))}
	// A key holds when a statement ends (KY1), in PostgreSQL after each of its rows: one that a later row of the statement
	// makes room for is refused there.
	w.early = func(ours, theirs string) bool {
		return strings.HasPrefix(theirs, "23505|") && strings.HasPrefix(ours, "INSERT")
	}
	counts := map[string]int{}
	restart := true
	statements := 200 * testsuite.Effort()
	for i := range statements {
		if i%60 == 0 || restart {
			restart = false
			for _, table := range []string{"one", "two", "source"} {
				for _, in := range []*room{w.ours, w.theirs} { // which may have other rows by now
					require.Contains(t, answerOf(t, in.conn, "DELETE FROM "+table, nil), "DELETE")
				}
			}
			w.statements = nil
			w.tell(t, fmt.Sprintf("INSERT INTO source SELECT i %% %d, 's' || i, i %% 9 FROM generate_series(1, %d) AS g(i)", 2+g.IntN(30), g.IntN(12)))
		}
		sql, args := g.statement()
		outcome := w.tell(t, sql, args...)
		counts[strings.Fields(outcome)[0]]++
		if restart = outcome == atEnd; restart {
			require.LessOrEqual(t, counts["at"], max(7, statements/100), sql)
			w.requireKeys(t)
			continue
		}
		w.tell(t, "SELECT * FROM one ORDER BY k")
		w.tell(t, "SELECT * FROM two ORDER BY a, b, c, d")
	}
	t.Log(counts, w.refused, w.otherwise)
	for _, in := range []*room{w.ours, w.theirs} {
		require.Contains(t, answerOf(t, in.conn, "DELETE FROM two", nil), "DELETE")
	}
	w.tell(t, "INSERT INTO two VALUES (2, 'y', 'a', 1.5)")
	require.Equal(t, atEnd, w.tell(t, `INSERT INTO two VALUES (2, 'y', 'c', 7), (1, 'x', 'q', 1.5)
		ON CONFLICT ON CONSTRAINT apart DO UPDATE SET a = two.a + 1`))
	w.requireKeys(t)
}

// requireKeys: no key is there twice here.
func (w *twins) requireKeys(t *testing.T) {
	for _, keys := range []string{
		"SELECT k FROM one GROUP BY k HAVING count(*) > 1 OR k IS NULL",
		"SELECT a, b FROM two WHERE a IS NOT NULL AND b IS NOT NULL GROUP BY a, b HAVING count(*) > 1",
		"SELECT d FROM two GROUP BY d HAVING count(*) > 1",
	} {
		require.Equal(t, "SELECT 0", answerOf(t, w.ours.conn, keys, nil), keys)
	}
}

type conflictGenerator struct{ *rand.Rand }

func (g *conflictGenerator) one(of ...string) string { return of[g.IntN(len(of))] }

// rarely is the first of them, one time of twelve.
func (g *conflictGenerator) rarely(first string, of ...string) string {
	if len(of) == 0 {
		of = []string{""}
	}
	if g.IntN(12) == 0 {
		return first
	}
	return g.one(of...)
}

func (g *conflictGenerator) statement() (sql string, args []string) {
	table := g.one("one", "one", "two")
	alias := g.one("", "", " AS x")
	name := table
	if alias != "" {
		name = "x"
	}
	parameter := func(value string) string {
		args = append(args, value)
		return fmt.Sprintf("$%d", len(args))
	}
	prepared := g.IntN(4) == 0
	sql = "INSERT INTO " + table + alias
	if table == "one" {
		sql += g.onesRows(prepared, parameter) + g.onesTarget() + g.onesChange(name, prepared, parameter)
	} else {
		sql += g.twosRows() + g.twosTarget() + g.twosChange(name)
	}
	if strings.Contains(sql, "UPDATE") && !strings.Contains(sql, "ON CONFLICT (") && !strings.Contains(sql, "CONSTRAINT") {
		sql = strings.ReplaceAll(sql, "ON CONFLICT", "ON CONFLICT ("+map[string]string{"one": "k", "two": "d"}[table]+")")
	}
	sql += g.one("", "", " RETURNING *", " RETURNING "+name+".*, 1 + 1 AS two")
	if prepared && args == nil {
		args = []string{}
	}
	return sql, args
}

func (g *conflictGenerator) onesRows(prepared bool, parameter func(string) string) string {
	number := func(most int) string {
		value := fmt.Sprint(g.IntN(most))
		if g.IntN(25) == 0 {
			value = "NULL"
		}
		if prepared && g.IntN(2) == 0 {
			return parameter(value)
		}
		return value
	}
	switch g.IntN(8) {
	case 0:
		return " SELECT * FROM source"
	case 1:
		return " (n, k) SELECT n, k + 1 FROM source WHERE n > 3"
	case 2:
		return " WITH c AS (SELECT k, max(n) AS n FROM source GROUP BY k) " + "SELECT k, 'c', n FROM c ORDER BY k"
	case 3:
		return " (k) VALUES (" + number(12) + "), (" + number(12) + ")"
	case 4:
		return " DEFAULT VALUES"
	}
	var rows []string
	for range 1 + g.IntN(4) {
		n := g.rarely("61", "", "", "DEFAULT")
		k := number(12)
		if n == "" {
			n = number(30)
		}
		rows = append(rows, fmt.Sprintf("(%s, %s, %s)", k, g.one("'a'", "'b'", "DEFAULT", "NULL"), n))
	}
	return " VALUES " + strings.Join(rows, ", ")
}

func (g *conflictGenerator) onesTarget() string {
	return " ON CONFLICT " + g.one("", "(k)", "(k)", "(k, k)", "ON CONSTRAINT one_pkey", g.rarely(g.one("(v)", "(nosuch)", "ON CONSTRAINT one_n_check", "ON CONSTRAINT nosuch"), "(k)"))
}

func (g *conflictGenerator) onesChange(name string, prepared bool, parameter func(string) string) string {
	if g.IntN(4) == 0 {
		return " DO NOTHING"
	}
	set := g.one("n = "+name+".n + excluded.n", "n = EXCLUDED.n", "v = excluded.v || '+' || "+name+".v", "(v, n) = (excluded.v, 3)", "n = DEFAULT, v = 'set'",
		"k = "+name+".k + 20", "n = "+name+".n + added", "n = (SELECT max(n) FROM source WHERE source.k = excluded.k)", "n = NULL", "k = excluded.k", "v = CASE WHEN excluded.n > 5 THEN 'more' ELSE 'less' END",
		g.rarely(g.one("nosuch = 1", "n = 1, n = 2"), "v = 'plain'"))
	if prepared && strings.Contains(set, "added") {
		set = strings.ReplaceAll(set, "added", parameter(fmt.Sprint(g.IntN(5))))
	}
	set = strings.ReplaceAll(set, "added", "1")
	return " DO UPDATE SET " + set + g.one("", "", " WHERE "+name+".n < excluded.n", " WHERE excluded.v IS NOT NULL AND "+name+".k > 3",
		" WHERE EXISTS (SELECT 1 FROM source WHERE source.k = "+name+".k)", g.rarely(" WHERE n > 1"))
}

func (g *conflictGenerator) twosRows() string {
	var rows []string
	for range 1 + g.IntN(3) {
		rows = append(rows, fmt.Sprintf("(%s, %s, %s, %s)", g.one("1", "2", "3", "NULL"), g.rarely("'long'", "'x'", "'y'", "'xx '", "NULL"), g.rarely("NULL", "'p'", "'q'", "DEFAULT"),
			g.rarely("99999", "1.5", "2", "NULL", "1.499", "3.25", "4", "5", "6", "7")))
	}
	return " VALUES " + strings.Join(rows, ", ")
}

func (g *conflictGenerator) twosTarget() string {
	return " ON CONFLICT " + g.one("", "(a, b)", "(b, a)", "(d)", "ON CONSTRAINT apart", "ON CONSTRAINT two_a_b_key", g.rarely("(a)", "(d)"))
}

func (g *conflictGenerator) twosChange(name string) string {
	if g.IntN(3) == 0 {
		return " DO NOTHING"
	}
	return " DO UPDATE SET " + g.one("c = excluded.c || "+name+".c", "d = "+name+".d + 1", "b = 'z'", "b = excluded.b || 'long'", "a = "+name+".a + 1, c = 'moved'", "d = NULL", "c = NULL") +
		g.one("", " WHERE "+name+".c < excluded.c", " WHERE "+name+".d > 2")
}

// TestUpsertsOfManyClients: clients of the extended protocol that want the same keys at once do not fail, and each gets
// the number of rows: a statement whose Sync has come with it is repeated before it is answered.
func TestUpsertsOfManyClients(t *testing.T) {
	r := newRoom(t, shared.dsn(), "CREATE TABLE once (k int PRIMARY KEY, writer int); CREATE TABLE counter (k int PRIMARY KEY, n int)")
	const clients, each = 8, 15
	var written atomic.Int64
	var together errgroup.Group
	for i := range clients {
		together.Go(func() error {
			conn, err := pgconn.Connect(t.Context(), shared.dsn())
			if err != nil {
				return err
			}
			defer conn.Close(context.Background())
			for k := range each {
				values := [][]byte{fmt.Append(nil, k), fmt.Append(nil, i)}
				result := conn.ExecParams(t.Context(), "INSERT INTO sql_list.once VALUES ($1, $2) ON CONFLICT DO NOTHING", values, nil, nil, nil).Read()
				if result.Err != nil {
					return result.Err
				}
				written.Add(result.CommandTag.RowsAffected())
				result = conn.ExecParams(t.Context(), "INSERT INTO sql_list.counter AS c VALUES ($1, 1) ON CONFLICT (k) DO UPDATE SET n = c.n + 1 RETURNING n",
					[][]byte{fmt.Append(nil, k%2)}, nil, nil, nil).Read()
				if result.Err != nil {
					return result.Err
				}
			}
			return nil
		})
	}
	require.NoError(t, together.Wait())
	require.EqualValues(t, each, written.Load())
	require.Equal(t, "15|15", strings.TrimPrefix(answerOf(t, r.conn, "SELECT count(*), count(DISTINCT k) FROM once", nil), "SELECT 1\n"))
	require.Equal(t, "120", strings.TrimPrefix(answerOf(t, r.conn, "SELECT sum(n) FROM counter", nil), "SELECT 1\n"))
}
