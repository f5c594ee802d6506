package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// alterTwin is a table t whose columns change, beside DuckDB's own that is given the same statements.
type alterTwin struct {
	*testing.T
	rng     *rand.Rand
	twin    *duckdb.Connection
	columns []twinColumn
	made    int // columns so far
	rows    int // inserted so far
	pending []string
	block   bool
}

type twinColumn struct{ name, kind string }

func (c twinColumn) integer() bool {
	return slices.Contains([]string{"INTEGER", "BIGINT", "SMALLINT"}, c.kind)
}

// text is a value of it as both show it.
func (c twinColumn) text(value string) string {
	if c.kind == "BLOB" {
		return "hex(" + value + ")"
	}
	return "CAST(" + value + " AS VARCHAR)"
}

func newAlterTwin(t *testing.T, seed uint64) *alterTwin {
	db, err := duckdb.Open(duckdb.Options{})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	twin, err := db.Connect(nil)
	require.NoError(t, err)
	t.Cleanup(twin.Close)
	return &alterTwin{T: t, rng: rand.New(rand.NewPCG(seed, 7)), twin: twin}
}

var twinKinds = []string{"INTEGER", "BIGINT", "VARCHAR", "DOUBLE", "DATE", "BOOLEAN", "DECIMAL(9,2)", "SMALLINT", "BLOB", "DECIMAL(30,3)", "INTEGER[]", "VARCHAR[]", "STRUCT(a INTEGER, b VARCHAR)", "TIMESTAMP", "INTERVAL", "UUID"}

func (w *alterTwin) literal(kind string) string {
	n := w.rng.IntN(7)
	switch kind {
	case "VARCHAR":
		return []string{"'x'", "''", "'a longer word than fits in a view''s header'", "'y'", "NULL", "'z'", "'x'"}[n]
	case "DOUBLE":
		return fmt.Sprintf("%d.5", n)
	case "DATE":
		return fmt.Sprintf("DATE '2024-01-0%d'", n+1)
	case "TIMESTAMP":
		return fmt.Sprintf("TIMESTAMP '2024-01-0%d 01:02:03'", n+1)
	case "BOOLEAN":
		return fmt.Sprint(n%2 == 0)
	case "BLOB":
		return fmt.Sprintf("CAST('abcdefghijklmnop%d' AS BLOB)", n)
	case "INTEGER[]":
		return fmt.Sprintf("CAST([%d, NULL, 2] AS INTEGER[])", n)
	case "VARCHAR[]":
		return fmt.Sprintf("['w%d', 'a longer word than fits']", n)
	case "STRUCT(a INTEGER, b VARCHAR)":
		return fmt.Sprintf("CAST({'a': %d, 'b': 'q'} AS STRUCT(a INTEGER, b VARCHAR))", n)
	case "INTERVAL":
		return fmt.Sprintf("INTERVAL %d DAY", n)
	case "UUID":
		return fmt.Sprintf("CAST('00000000-0000-0000-0000-00000000000%d' AS UUID)", n)
	}
	if n == 6 {
		return "NULL"
	}
	return fmt.Sprint(n)
}

func (w *alterTwin) pick() int { return w.rng.IntN(len(w.columns)) }

// statement makes up the next one.
func (w *alterTwin) statement() string {
	switch op := w.rng.IntN(17); {
	case op < 3 && len(w.columns) < 12:
		w.made++
		c := twinColumn{fmt.Sprintf("c%d", w.made), twinKinds[w.rng.IntN(len(twinKinds))]}
		w.columns = append(w.columns, c)
		sql := "ALTER TABLE t ADD COLUMN " + c.name + " " + c.kind
		if w.rng.IntN(3) > 0 {
			sql += " DEFAULT " + w.literal(c.kind)
		}
		return sql
	case op == 3 && len(w.columns) > 2:
		i := 1 + w.rng.IntN(len(w.columns)-1)
		name := w.columns[i].name
		w.columns = slices.Delete(w.columns, i, i+1)
		return "ALTER TABLE t DROP COLUMN " + name
	case op == 4:
		w.made++
		i := w.pick()
		was := w.columns[i].name
		w.columns[i].name = fmt.Sprintf("r%d", w.made)
		return "ALTER TABLE t RENAME COLUMN " + was + " TO " + w.columns[i].name
	case op == 5:
		c := w.columns[w.pick()]
		return "ALTER TABLE t ALTER COLUMN " + c.name + " SET DEFAULT " + w.literal(c.kind)
	case op == 6:
		return "ALTER TABLE t ALTER COLUMN " + w.columns[w.pick()].name + " DROP DEFAULT"
	case op == 7:
		i := w.pick()
		to := map[string]string{"INTEGER": "BIGINT", "SMALLINT": "DOUBLE", "BOOLEAN": "VARCHAR", "DATE": "VARCHAR", "BIGINT": "DECIMAL(30,3)"}[w.columns[i].kind]
		if to == "" {
			break
		}
		w.columns[i].kind = to
		return "ALTER TABLE t ALTER COLUMN " + w.columns[i].name + " SET DATA TYPE " + to
	case op == 8:
		c := w.columns[w.pick()]
		return fmt.Sprintf("UPDATE t SET %s = %s WHERE hash(%s) %% 3 = %d", c.name, w.literal(c.kind), w.columns[0].name, w.rng.IntN(3))
	case op == 9:
		return fmt.Sprintf("DELETE FROM t WHERE hash(%s, %s) %% 4 = %d", w.columns[0].name, w.columns[w.pick()].name, w.rng.IntN(4))
	}
	var names, values []string
	for _, c := range w.columns {
		if c == w.columns[0] || w.rng.IntN(3) > 0 {
			names, values = append(names, c.name), append(values, w.literal(c.kind))
		}
	}
	n := 1 + w.rng.IntN(4)
	values[0] = fmt.Sprintf("%d + range", w.rows)
	w.rows += n
	return fmt.Sprintf("INSERT INTO t (%s) SELECT %s FROM range(%d)", strings.Join(names, ", "), strings.Join(values, ", "), n)
}

// step does one of them, or begins or ends a transaction.
func (w *alterTwin) step(s *engine.Session) {
	switch op := w.rng.IntN(12); {
	case op == 0 && !w.block:
		exec(w, s, "BEGIN")
		w.block = true
		return
	case op == 1 && w.block:
		exec(w, s, "COMMIT")
		w.settle()
		w.block = false
		return
	case op == 2: // what is taken back is as if it had not been
		columns, made, rows := slices.Clone(w.columns), w.made, w.rows
		begin, end := "BEGIN", "ROLLBACK"
		if w.block {
			begin, end = "SAVEPOINT a", "ROLLBACK TO a"
		}
		exec(w, s, begin)
		for range 3 {
			sql := w.statement()
			exec(w, s, sql)
		}
		exec(w, s, end)
		w.columns, w.made, w.rows = columns, made+3, rows
		return
	}
	sql := w.statement()
	exec(w, s, sql)
	w.pending = append(w.pending, sql)
	if !w.block {
		w.settle()
	}
}

// settle gives the twin what was committed.
func (w *alterTwin) settle() {
	for _, sql := range w.pending {
		require.NoError(w, w.twin.Exec(sql), sql)
	}
	w.pending = nil
}

// compare asks both. Preconditions: no block is open.
func (w *alterTwin) compare(s *engine.Session, whose string) {
	var shown []string
	for _, c := range w.columns {
		shown = append(shown, "coalesce("+c.text(c.name)+", '(null)')")
	}
	line := func(list []string) string { return strings.Join(list, " || '|' || ") }
	ask := func(ours, theirs string) {
		want, err := w.twin.Texts(context.Background(), theirs)
		require.NoError(w, err, theirs)
		got, err := tryRows(s, ours)
		require.NoError(w, err, "%s: %s", whose, ours)
		require.Equal(w, strings.Join(want, "\n"), strings.Join(got, "\n"), "%s: %s %v", whose, ours, w.columns)
	}
	all := "SELECT " + line(shown) + " AS line FROM t ORDER BY line"
	ask(all, all)
	for _, c := range w.columns {
		one := "SELECT " + line([]string{"CAST(count(*) AS VARCHAR)", "CAST(count(" + c.name + ") AS VARCHAR)", "coalesce(" + c.text("min("+c.name+")") + ", '(null)')"}) + " AS line FROM t"
		ask(one, one)
		if c.integer() {
			of := func(cast string) []string {
				return []string{"count(*)" + cast, "count(" + c.name + ")" + cast, "min(" + c.name + ")" + cast, "max(" + c.name + ")" + cast}
			}
			var theirs []string
			for _, x := range of("::VARCHAR") {
				theirs = append(theirs, "coalesce("+x+", '(null)')")
			}
			where := fmt.Sprintf(" FROM t WHERE %s = %d", c.name, w.rng.IntN(7))
			ask("SELECT "+strings.Join(of(""), ", ")+where, "SELECT "+line(theirs)+where) // by the kernels
			ask("SELECT "+strings.Join(of(""), ", ")+" FROM t", "SELECT "+line(theirs)+" FROM t")
		}
		if c.kind == "VARCHAR" {
			group := "SELECT coalesce(" + c.name + ", '(null)') || count(*)::VARCHAR AS line FROM t GROUP BY " + c.name + " ORDER BY line"
			ask(group, group)
			where := "SELECT count(*)::VARCHAR FROM t WHERE " + c.name + " = 'x'"
			ask(where, where)
		}
	}
}

func (w *alterTwin) begin(s *engine.Session, with string) {
	const sql = "CREATE TABLE t (k INTEGER, a INTEGER, b VARCHAR DEFAULT 'b')"
	w.columns = []twinColumn{{"k", "INTEGER"}, {"a", "INTEGER"}, {"b", "VARCHAR"}}
	exec(w, s, sql+with)
	require.NoError(w, w.twin.Exec(sql))
}

func (w *alterTwin) end(s *engine.Session) {
	if w.block {
		exec(w, s, "COMMIT")
		w.settle()
		w.block = false
	}
}

// Whatever becomes of a table's columns, its rows are those that DuckDB's own table has: in a session, after a restart,
// and in a process that is attached to the node.
func TestAlteredLikeDuckDB(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2 * testsuite.Effort()) {
		w := newAlterTwin(t, seed)
		directory, region := t.TempDir(), shmDirectory(t)
		start := func() (*engine.Engine, *engine.Session, func()) {
			e, err := engine.Open(context.Background(), engine.Config{Dialect: engine.DialectDuckDB, Directory: directory, RegionDirectory: region, RegionBytes: 256 << 20, MemoryBytes: 512 << 20, Threads: 2})
			require.NoError(t, err)
			s, err := e.Session(engine.SessionOptions{})
			require.NoError(t, err)
			return e, s, func() { s.Close(); require.NoError(t, e.Close()) }
		}
		e, s, stop := start()
		w.begin(s, "")
		for range 12 {
			for range 6 {
				w.step(s)
			}
			w.end(s)
			if w.rng.IntN(3) == 0 {
				exec(t, s, "VACUUM t")
			}
			w.compare(s, "session")
			if w.rng.IntN(4) == 0 {
				stop()
				e, s, stop = start()
				w.compare(s, "restarted")
			}
			if w.rng.IntN(4) == 0 {
				socket := filepath.Join(t.TempDir(), "s")
				end, err := serve(e, socket)
				require.NoError(t, err)
				borrower, err := engine.AttachWith(t.Context(), socket, engine.Config{Dialect: engine.DialectDuckDB, MemoryBytes: 256 << 20})
				require.NoError(t, err)
				b, err := borrower.Session(engine.SessionOptions{})
				require.NoError(t, err)
				w.compare(b, "attached")
				b.Close()
				require.NoError(t, borrower.Close())
				require.NoError(t, end())
			}
		}
		stop()
	}
}

// The same over three nodes, whichever is asked.
func TestAlteredOverThreeNodes(t *testing.T) {
	t.Parallel()
	w, c := newAlterTwin(t, 99), newCluster(t, 3)
	w.begin(c.session(0), " WITH (placement = 'rows')")
	for i := range 6 * testsuite.Effort() {
		s := c.session(i % 3)
		for range 6 {
			w.step(s)
		}
		w.end(s)
		if i%4 == 3 {
			exec(t, s, "VACUUM t")
		}
		for k := range 3 {
			s := c.session(k)
			exec(t, s, "SET csm.distribute = 'always'")
			w.compare(s, fmt.Sprint("node ", k))
		}
	}
}

// A writer writes rows of the table as it is before or after columns come and go; only a transaction of several
// statements fails with 40001. No row is lost that was acknowledged, and none has another one's values.
func TestWritersWhileColumnsChange(t *testing.T) {
	t.Parallel()
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		writeWhileColumnsChange(t, func(int) *engine.Session { return session(t, e) })
	})
	t.Run("three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		writeWhileColumnsChange(t, func(i int) *engine.Session { return c.session(i % 3) })
	})
}

func writeWhileColumnsChange(t *testing.T, of func(int) *engine.Session) {
	s := of(0)
	exec(t, s, "CREATE TABLE t (k INTEGER, a INTEGER, b VARCHAR DEFAULT 'b')")
	const writers = 3
	each := 15 * testsuite.Effort()
	written := make([]map[int]bool, writers)
	var group errgroup.Group
	for w := range writers {
		written[w] = map[int]bool{}
		by := of(w + 1)
		group.Go(func() error {
			for n := range each {
				k := w*1000 + n
				sql := []string{
					fmt.Sprintf("INSERT INTO t (k, a) VALUES (%d, %d)", k, 2*k),
					fmt.Sprintf("INSERT INTO t (a, k) SELECT 2 * i, i FROM range(%d, %d) r(i)", k, k+1),
					fmt.Sprintf("INSERT INTO t (k, a) VALUES (%d, %d); UPDATE t SET a = a + 0 WHERE k = %d", k, 2*k, k),
				}[n%3]
				switch err := failing(by, sql); {
				case err == nil:
					written[w][k] = true
				case n%3 < 2 || !errors.Is(err, catalog.ErrConflict):
					return fmt.Errorf("%s: %w", sql, err)
				}
			}
			return nil
		})
	}
	for n := range each {
		sql := []string{
			fmt.Sprintf("ALTER TABLE t ADD COLUMN c%d INTEGER DEFAULT %d", n, n),
			fmt.Sprintf("ALTER TABLE t RENAME COLUMN c%d TO d%d", n-1, n-1),
			fmt.Sprintf("ALTER TABLE t DROP COLUMN d%d", n-2),
		}[n%3]
		exec(t, s, sql)
	}
	require.NoError(t, group.Wait())
	var want []string
	for _, keys := range written {
		for k := range keys {
			want = append(want, fmt.Sprintf("%d|%d|b", k, 2*k))
		}
	}
	require.Greater(t, len(want), writers*each/2)
	for i := range 3 {
		require.ElementsMatch(t, want, rows(t, of(i), "SELECT * FROM t"))
	}
}
