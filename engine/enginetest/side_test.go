package enginetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/internal/testfabric"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/notation"
)

// outcome is what a statement gave: rows as text, or an error's SQLSTATE.
type outcome struct {
	columns []string // name and type
	rows    []string
	state   string
	message string
}

func failed(err error) outcome {
	o := outcome{state: "?????", message: err.Error()}
	var s interface{ SQLState() string }
	if errors.As(err, &s) {
		o.state = s.SQLState()
	}
	return o
}

// sorted is the outcome as a multiset.
func (o outcome) sorted() outcome {
	o.rows = slices.Clone(o.rows)
	slices.Sort(o.rows)
	return o
}

// differs says how two outcomes differ, or "".
func (o outcome) differs(other outcome, ordered bool) string {
	if (o.state != "") != (other.state != "") || o.state != "" && o.state[:2] != other.state[:2] {
		return fmt.Sprintf("errors: %q %s | %q %s", o.state, o.message, other.state, other.message)
	}
	if o.state != "" {
		return ""
	}
	if !slices.Equal(o.columns, other.columns) {
		return fmt.Sprintf("columns: %v | %v", o.columns, other.columns)
	}
	if !ordered {
		o, other = o.sorted(), other.sorted()
	}
	if !slices.Equal(o.rows, other.rows) {
		return fmt.Sprintf("rows (%d | %d):\n%s", len(o.rows), len(other.rows), difference(o.rows, other.rows))
	}
	return ""
}

func difference(a, b []string) string {
	var out strings.Builder
	count := map[string]int{}
	for _, r := range a {
		count[r]++
	}
	for _, r := range b {
		count[r]--
	}
	shown := 0
	for _, r := range slices.Concat(a, b) {
		if n := count[r]; n != 0 && shown < 12 {
			fmt.Fprintf(&out, "  %+d × %s\n", n, r)
			count[r] = 0
			shown++
		}
	}
	if shown == 0 {
		out.WriteString("  the same rows in another order\n")
	}
	return out.String()
}

func columnsOf(schema *arrow.Schema) (out []string) {
	for _, f := range schema.Fields() {
		mark, _ := f.Metadata.GetValue("ARROW:extension:name") // what a uuid is known by
		out = append(out, strings.TrimSpace(f.Name+" "+typeText(f.Type)+" "+mark))
	}
	return out
}

// typeText is the type as users see it: however strings are laid out, text is text.
func typeText(t arrow.DataType) string {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return typeText(d.ValueType)
	}
	switch t.ID() {
	case arrow.DECIMAL32: // DuckDB's choice for few digits; results of the engine are decimal64
		d := t.(*arrow.Decimal32Type)
		return (&arrow.Decimal64Type{Precision: d.Precision, Scale: d.Scale}).String()
	case arrow.STRING_VIEW, arrow.LARGE_STRING:
		return "utf8"
	case arrow.BINARY_VIEW, arrow.LARGE_BINARY:
		return "binary"
	}
	return t.String()
}

func rowsOf(b arrow.RecordBatch) (out []string) {
	for i := range int(b.NumRows()) {
		cells := make([]string, b.NumCols())
		for c := range cells {
			cells[c] = cell(b.Column(c), i)
		}
		out = append(out, strings.Join(cells, " | "))
	}
	return out
}

// cell is a value as text; -0 is 0: an aggregate may show either of the two.
func cell(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "NULL"
	}
	if d, ok := a.(*array.Dictionary); ok {
		return cell(d.Dictionary(), d.GetValueIndex(i))
	}
	switch v := a.(type) {
	case *array.Float32:
		return floatCell(float64(v.Value(i)), 32)
	case *array.Float64:
		return floatCell(v.Value(i), 64)
	case *array.Struct:
		cells := make([]string, v.NumField())
		for f := range cells {
			cells[f] = fmt.Sprintf("%s: %s", v.DataType().(*arrow.StructType).Field(f).Name, innerCell(v.Field(f), i))
		}
		return "{" + strings.Join(cells, ", ") + "}"
	case array.ListLike:
		from, to := v.ValueOffsets(i)
		cells := make([]string, 0, to-from)
		for at := from; at < to; at++ {
			cells = append(cells, innerCell(v.ListValues(), int(at)))
		}
		return "[" + strings.Join(cells, ", ") + "]"
	}
	return strings.Clone(a.ValueStr(i))
}

// innerCell distinguishes text from what only looks like a NULL or like several values.
func innerCell(a arrow.Array, i int) string {
	s := cell(a, i)
	if a.IsValid(i) && typeText(a.DataType()) == "utf8" {
		return strconv.Quote(s)
	}
	return s
}

func floatCell(v float64, bits int) string {
	if v == 0 {
		return "0"
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

// native is DuckDB with its own tables: the twin that knows no hints. A statement of it that neither ends nor can be interrupted is left to
// itself, and with it the twin, which from then on answers nothing: gone says what it was.
type native struct {
	conn     plainConnection
	patience time.Duration // with a statement, its interruption included
	gone     string
}

// goneState is what a twin answers that did not come back from a statement.
const goneState = "twin?"

func openNative(t testing.TB, threads int) *native {
	t.Helper()
	db, err := duckdb.Open(duckdb.Options{MemoryBytes: 1 << 30, Threads: threads, Files: duckdb.FileAccess{All: true}, PostgresText: true})
	require.NoError(t, err)
	conn, err := db.Connect(nil)
	require.NoError(t, err)
	n := &native{conn: plainConnection{conn}, patience: timeMax + 40*time.Second}
	t.Cleanup(func() {
		if n.gone == "" { // to close it would wait for the statement
			conn.Close()
			db.Close()
		}
	})
	for operator, function := range map[string]string{"~~": "like_escape", "!~~": "not_like_escape", "~~*": "ilike_escape", "!~~*": "not_ilike_escape"} { // as PostgreSQL means LIKE
		require.NoError(t, n.conn.Exec(`CREATE MACRO "`+operator+`"(x, pattern) AS `+function+`(x, pattern, '\')`))
	}
	return n
}

// ask has the twin work at a statement, in a goroutine that touches nothing but the twin: if it does not come back, it
// is abandoned.
func (n *native) ask(sql string, work func() outcome) outcome {
	if n.gone == "" {
		done := make(chan outcome, 1)
		go func() { done <- work() }()
		late := time.NewTimer(n.patience)
		defer late.Stop()
		select {
		case o := <-done:
			return o
		case <-late.C:
			n.gone = sql
		}
	}
	return outcome{state: goneState, message: "DuckDB did not come back, nor when it was interrupted, from: " + n.gone}
}

// plainConnection gives DuckDB texts without what its lexer does not know, 0x1F, as the engine does.
type plainConnection struct{ *duckdb.Connection }

func (c plainConnection) Exec(sql string) error { return c.Connection.Exec(plainText(sql)) }

func (c plainConnection) Prepare(sql string) (*duckdb.Statement, error) {
	return c.Connection.Prepare(plainText(sql))
}

// plainText is a text in spellings that both lexers read alike.
func plainText(sql string) string {
	if text, _, err := notation.Plain(lex.Client.Text(sql)); err == nil {
		return text
	}
	return sql
}

func (n *native) exec(sql string) outcome {
	return n.ask(sql, func() outcome {
		if err := n.conn.Exec(sql); err != nil {
			return failed(err)
		}
		return outcome{}
	})
}

// withoutOptimizer asks DuckDB without its optimizer, which makes mistakes of its own: after LEFT JOIN … ON right.id < 4
// it took a sum for one that cannot overflow, and it lost all rows of a join for (x IS DISTINCT FROM 'a' AND …) OR
// (x < 'b' AND …) where x is all NULL.
func (n *native) withoutOptimizer(ask func() outcome) outcome {
	defer n.exec("PRAGMA enable_optimizer")
	if o := n.exec("PRAGMA disable_optimizer"); o.state != "" {
		return o
	}
	return ask()
}

func (n *native) query(sql string, args []any) outcome {
	return n.ask(sql, func() outcome {
		st, err := n.conn.Prepare(sql)
		if err != nil {
			return failed(err)
		}
		defer st.Close()
		return within(sql, func(ctx context.Context) outcome { return n.run(ctx, st, args) })
	})
}

func (n *native) run(ctx context.Context, st *duckdb.Statement, args []any) outcome {
	if err := st.Bind(args); err != nil {
		return failed(err)
	}
	rows, err := st.Execute(ctx)
	if err != nil {
		return failed(err)
	}
	defer rows.Close()
	o := outcome{columns: columnsOf(rows.Schema())}
	for {
		b, err := rows.Next()
		if err == io.EOF {
			return o
		}
		if err != nil {
			return failed(err)
		}
		o.rows = append(o.rows, rowsOf(b)...)
		b.Release()
		if len(o.rows) > rowsMax {
			return tooMany
		}
	}
}

// rowsMax bounds what is compared: a cross join that luck made is not worth the memory.
const rowsMax = 50_000

// tooLarge: a side ran out of what it was given, which says nothing of the answer.
func (o outcome) tooLarge() bool {
	return o.state == "53200" || o.state == tooMany.state || o.state == tooLong
}

// timeMax bounds what is asked, for the same reason; tooLong is how that ends.
const (
	timeMax = 20 * time.Second
	tooLong = "57014"
)

// within asks, and reports what took too long unless it is a cross join.
func within(sql string, ask func(context.Context) outcome) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), timeMax)
	defer cancel()
	o := ask(ctx)
	if o.state == tooLong {
		fmt.Fprintf(os.Stderr, "given up after %v: %s\n", timeMax, sql)
	}
	return o
}

var tooMany = outcome{state: "54000", message: "too many rows to compare"}

// openEngine starts a small node that is gone with the test, its region with it.
func openEngine(t testing.TB, change ...func(*engine.Config)) *engine.Engine {
	t.Helper()
	config := engine.Config{Dialect: engine.DialectDuckDB, Directory: t.TempDir(), RegionDirectory: shmdir.For(t), RegionBytes: 512 << 20, MemoryBytes: 1 << 30, Threads: 2, Fabric: testfabric.FromEnvironment()}
	for _, c := range change {
		c(&config)
	}
	serve := withWorkers(t, &config)
	e, err := engine.Open(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	serve(e)
	return e
}

// lent is the engine under test: one session.
type lent struct{ session *engine.Session }

func openSession(t testing.TB, e *engine.Engine) *lent {
	t.Helper()
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return &lent{s}
}

func (l *lent) exec(sql string, args ...any) outcome {
	return served(func() outcome {
		if _, err := l.session.Exec(context.Background(), sql, args...); err != nil {
			return failed(err)
		}
		return outcome{}
	})
}

// unserved is the SQLSTATE of what a cluster has not begun because its etcd did not answer in time.
const unserved = "57P03"

// served asks again, for a while, where the machine is so busy that the cluster's etcd does not answer in time: nothing has happened then.
func served(ask func() outcome) outcome {
	begun := time.Now()
	for {
		if o := ask(); o.state != unserved || time.Since(begun) > 2*time.Minute {
			return o
		}
	}
}

func (l *lent) must(t testing.TB, sql string, args ...any) engine.Result {
	t.Helper()
	r, err := l.session.Exec(context.Background(), sql, args...)
	require.NoError(t, err, sql)
	return r
}

func (l *lent) query(sql string, args []any) outcome {
	return served(func() outcome {
		return within(sql, func(ctx context.Context) outcome { return collected(l.session.Query(ctx, sql, args...)) })
	})
}

// ask is query for tests that expect rows.
func (l *lent) ask(t testing.TB, sql string, args ...any) []string {
	t.Helper()
	o := l.query(sql, args)
	require.Empty(t, o.state, "%s: %s", sql, o.message)
	return o.rows
}

func collected(r array.RecordReader, err error) outcome {
	if err != nil {
		return failed(err)
	}
	defer r.Release()
	o := outcome{columns: columnsOf(r.Schema())}
	for r.Next() {
		o.rows = append(o.rows, rowsOf(r.RecordBatch())...)
		if len(o.rows) > rowsMax {
			return tooMany
		}
	}
	if r.Err() != nil {
		return failed(r.Err())
	}
	return o
}
