package clienttest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// matrix are the types that tables store, with expressions of their values beside those of copied: the least and the greatest, and what is
// written in a way of its own.
var matrix = []copiedType{
	{"boolean", []string{"'t'", "'no'", "true"}, false},
	{"tinyint", []string{"-128", "127"}, false},
	{"utinyint", []string{"255", "0"}, false},
	{"usmallint", []string{"65535", "0"}, false},
	{"uinteger", []string{"4294967295", "0"}, false},
	{"numeric(1,0)", []string{"9", "-9"}, false},
	{"numeric(9,9)", []string{"0.999999999", "-0.000000001"}, false},
	{"numeric(18,3)", []string{"999999999999999.999", "-0.001"}, false},
	{"numeric(38,0)", []string{"99999999999999999999999999999999999999", "-99999999999999999999999999999999999999"}, false},
	{"numeric(38,37)", []string{"9.9999999999999999999999999999999999999", "'-0.0000000000000000000000000000000000001'"}, false},
	{"varchar(5)", []string{"'äöüßé'", "'a   '", "''"}, false},
	{"char(3)", []string{"'a'", "'abc'", "''"}, false},
	{"json[]", []string{`'{"{\"a\": \"x,y\"}",1}'`, "'{}'"}, false},
	{"integer[][]", []string{"'{{1,2},{3,NULL}}'", "'{}'"}, false},
	{"integer[2]", []string{"'{1,NULL}'"}, false},
	{"double[]", []string{"'{NaN,Infinity,-0,5e-324}'"}, false},
	{"real[]", []string{"'{NaN,-Infinity,1e-45}'"}, false},
	{"numeric(10,2)[]", []string{"'{1.25,NULL,-99999999.99}'"}, false},
	{"timestamp[]", []string{`'{"2024-02-29 12:00:00.5",infinity,NULL}'`, `'{"0044-03-15 12:00:00 BC"}'`}, false},
	{"timestamptz[]", []string{`'{"2024-02-29 12:00:00.5+02",-infinity}'`}, false},
	{"time[]", []string{"'{24:00:00,00:00:00}'"}, false},
	{"interval[]", []string{`'{"1 year -2 days",NULL}'`}, false},
	{"uuid[]", []string{"'{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'"}, false},
	{"struct(d date, b bytea, l integer[])", []string{`{'d': '0044-03-15 BC', 'b': '\xDEAD', 'l': [1, NULL]}`, "{'d': NULL, 'b': NULL, 'l': NULL}"}, false},
	{"struct(x integer)[]", []string{"[{'x': 1}, NULL, {'x': NULL}]"}, false},
	{"map(integer, text[])", []string{"MAP {1: ['a', NULL], 2: NULL}"}, false},
	{"text", []string{`E'\x01\x7f'`, "repeat('long text ', 1000)", "' \t\n'", `'{1,2}'`, `'\xDEAD'`, "'2024-01-01 BC'"}, false},
}

// way fills matrix_in, which has the columns of matrix_ref, with its values.
type way struct {
	name string
	fill func(m *matrixRun) error
}

// matrixColumn is one type on its ways.
type matrixColumn struct {
	kind     string
	name     string   // in matrix_all
	values   []string // expressions, one for each row
	text     [][]byte // as the server writes them
	binary   [][]byte // and in the binary format, nil if there is none
	oid      uint32
	noBinary bool
	foreign  bool // written for DuckDB alone, as JSON for PostgreSQL's clients: no client sends it back
}

// matrixRun is some types on their ways, each a column of one table.
type matrixRun struct {
	t       *testing.T
	ctx     context.Context
	conn    *pgconn.PgConn
	columns []*matrixColumn
	rows    int
}

func (m *matrixRun) exec(sql string) error {
	if _, err := m.conn.Exec(m.ctx, sql).ReadAll(); err != nil {
		return fmt.Errorf("%w: %s", err, sql)
	}
	return nil
}

// list joins what is written for each column.
func (m *matrixRun) list(separator string, write func(i int, c *matrixColumn) string) string {
	list := make([]string, len(m.columns))
	for i, c := range m.columns {
		list[i] = write(i, c)
	}
	return strings.Join(list, separator)
}

// each joins what is written for each row of values, which value writes.
func (m *matrixRun) each(separator, before, after string, value func(n, i int, c *matrixColumn) string) string {
	list := make([]string, m.rows)
	for n := range list {
		list[n] = fmt.Sprintf(before, n) + m.list(", ", func(i int, c *matrixColumn) string { return value(n, i, c) }) + after
	}
	return strings.Join(list, separator)
}

func plain(n, _ int, c *matrixColumn) string { return c.values[n] }

func cast(n, _ int, c *matrixColumn) string { return "CAST(" + c.values[n] + " AS " + c.kind + ")" }

func named(n, i int, c *matrixColumn) string { return cast(n, i, c) + fmt.Sprintf(" AS c%d", i) }

// insert sends all values as parameters; parameter writes one.
func (m *matrixRun) insert(binary bool, oid func(c *matrixColumn) uint32, parameter func(number int, c *matrixColumn) string) error {
	for n := range m.rows {
		var values [][]byte
		var oids []uint32
		var formats []int16
		sql := fmt.Sprintf("INSERT INTO matrix_in VALUES (%d, ", n) + m.list(", ", func(_ int, c *matrixColumn) string {
			if c.foreign {
				return c.values[n]
			}
			value, format := c.text[n], int16(0)
			if binary && c.binary != nil {
				value, format = c.binary[n], 1
			}
			values, oids, formats = append(values, value), append(oids, oid(c)), append(formats, format)
			return parameter(len(values), c)
		}) + ")"
		if err := m.conn.ExecParams(m.ctx, sql, values, oids, formats, nil).Read().Err; err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

func untyped(*matrixColumn) uint32 { return 0 }

func typed(c *matrixColumn) uint32 { return c.oid }

func dollar(number int, _ *matrixColumn) string { return fmt.Sprintf("$%d", number) }

func castDollar(number int, c *matrixColumn) string {
	return fmt.Sprintf("CAST($%d AS %s)", number, c.kind)
}

func (m *matrixRun) copied(options string, fits func(c *matrixColumn) bool) error {
	names := "n"
	for i, c := range m.columns {
		if fits(c) {
			names += fmt.Sprintf(", c%d", i)
		}
	}
	var data bytes.Buffer
	if _, err := m.conn.CopyTo(m.ctx, &data, "COPY matrix_ref ("+names+") TO STDOUT "+options); err != nil {
		return err
	}
	sent := data.String()
	if _, err := m.conn.CopyFrom(m.ctx, &data, "COPY matrix_in ("+names+") FROM STDIN "+strings.Replace(options, ", FORCE_QUOTE *", "", 1)); err != nil {
		return fmt.Errorf("%q: %w", sent, err)
	}
	return m.exec("UPDATE matrix_in SET " + m.list(", ", func(i int, c *matrixColumn) string {
		if fits(c) {
			return fmt.Sprintf("c%d = c%d", i, i)
		}
		return fmt.Sprintf("c%d = (SELECT r.c%d FROM matrix_ref r WHERE r.n = matrix_in.n)", i, i)
	}))
}

func all(*matrixColumn) bool { return true }

func hasBinary(c *matrixColumn) bool { return c.binary != nil }

var ways = []way{
	{"VALUES", func(m *matrixRun) error {
		return m.exec("INSERT INTO matrix_in VALUES " + m.each(", ", "(%d, ", ")", plain))
	}},
	{"VALUES, one by one", func(m *matrixRun) error {
		return m.exec(m.each("; ", "INSERT INTO matrix_in VALUES (%d, ", ")", plain))
	}},
	{"SELECT", func(m *matrixRun) error {
		return m.exec("INSERT INTO matrix_in " + m.each(" UNION ALL ", "SELECT %d, ", "", cast))
	}},
	{"SELECT without casts", func(m *matrixRun) error { return m.exec(m.each("; ", "INSERT INTO matrix_in SELECT %d, ", "", plain)) }},
	{"CASE", func(m *matrixRun) error {
		return m.exec(m.each("; ", "INSERT INTO matrix_in SELECT %d, ", "", func(n, i int, c *matrixColumn) string { return "CASE WHEN true THEN " + c.values[n] + " END" }))
	}},
	{"CREATE TABLE AS", func(m *matrixRun) error {
		return m.exec("DROP TABLE matrix_in; CREATE TABLE matrix_in AS SELECT * FROM matrix_ref")
	}},
	{"CREATE TABLE AS of values", func(m *matrixRun) error {
		return m.exec("DROP TABLE matrix_in; CREATE TABLE matrix_in AS " + m.each(" UNION ALL ", "SELECT %d AS n, ", "", named))
	}},
	{"a temporary table", func(m *matrixRun) error {
		return m.exec("CREATE TEMP TABLE matrix_temp AS SELECT * FROM matrix_ref; INSERT INTO matrix_in SELECT * FROM matrix_temp; DROP TABLE matrix_temp")
	}},
	{"a view", func(m *matrixRun) error {
		return m.exec("CREATE VIEW matrix_view AS SELECT * FROM matrix_ref; INSERT INTO matrix_in FROM matrix_view; DROP VIEW matrix_view")
	}},
	{"UPDATE", func(m *matrixRun) error {
		sql := "INSERT INTO matrix_in (n) SELECT n FROM matrix_ref"
		for n := range m.rows {
			sql += "; UPDATE matrix_in SET " + m.list(", ", func(i int, c *matrixColumn) string { return fmt.Sprintf("c%d = %s", i, c.values[n]) }) + fmt.Sprintf(" WHERE n = %d", n)
		}
		return m.exec(sql)
	}},
	{"UPDATE with a sub-query", func(m *matrixRun) error {
		return m.exec("INSERT INTO matrix_in (n) SELECT n FROM matrix_ref; UPDATE matrix_in SET " +
			m.list(", ", func(i int, _ *matrixColumn) string {
				return fmt.Sprintf("c%d = (SELECT r.c%d FROM matrix_ref r WHERE r.n = matrix_in.n)", i, i)
			}))
	}},
	{"DEFAULT", func(m *matrixRun) error {
		sql := ""
		for n := range m.rows {
			sql += "CREATE TABLE matrix_default (n integer, " + m.list(", ", func(i int, c *matrixColumn) string { return fmt.Sprintf("c%d %s DEFAULT %s", i, c.kind, c.values[n]) }) +
				fmt.Sprintf("); INSERT INTO matrix_default (n) VALUES (%d); INSERT INTO matrix_in FROM matrix_default; DROP TABLE matrix_default; ", n)
		}
		return m.exec(sql)
	}},
	{"PREPARE", func(m *matrixRun) error {
		return m.exec("PREPARE matrix_p AS INSERT INTO matrix_in VALUES ($1, " + m.list(", ", func(i int, _ *matrixColumn) string { return fmt.Sprintf("$%d", i+2) }) + "); " +
			m.each("; ", "EXECUTE matrix_p(%d, ", ")", plain) + "; DEALLOCATE matrix_p")
	}},
	{"PREPARE with types", func(m *matrixRun) error {
		return m.exec("PREPARE matrix_p(int, " + m.list(", ", func(_ int, c *matrixColumn) string { return c.kind }) + ") AS INSERT INTO matrix_in VALUES ($1, " +
			m.list(", ", func(i int, _ *matrixColumn) string { return fmt.Sprintf("$%d", i+2) }) + "); " + m.each("; ", "EXECUTE matrix_p(%d, ", ")", plain) + "; DEALLOCATE matrix_p")
	}},
	{"text parameters", func(m *matrixRun) error { return m.insert(false, untyped, dollar) }},
	{"text parameters of the types", func(m *matrixRun) error { return m.insert(false, typed, dollar) }},
	{"text parameters, cast", func(m *matrixRun) error { return m.insert(false, untyped, castDollar) }},
	{"binary parameters", func(m *matrixRun) error { return m.insert(true, typed, dollar) }},
	{"COPY text", func(m *matrixRun) error { return m.copied("(FORMAT text)", all) }},
	{"COPY CSV", func(m *matrixRun) error { return m.copied("(FORMAT csv, HEADER, FORCE_QUOTE *)", all) }},
	{"COPY binary", func(m *matrixRun) error { return m.copied("(FORMAT binary)", hasBinary) }},
}

// unlike are types whose values mean the same on most ways, and are refused on those.
var unlike = map[string][]string{
	"PREPARE": {bytesInside}, "PREPARE with types": {bytesInside, "integer[][]"}, // the latter beside types that PostgreSQL's parser does not know
}

const bytesInside = "struct(d date, b bytea, l integer[])"

func matrixTypes() []*matrixColumn {
	var list []*matrixColumn
	for i, c := range append(slices.Clone(copied), matrix...) {
		foreign := strings.HasPrefix(c.column, "struct") || strings.HasPrefix(c.column, "map")
		list = append(list, &matrixColumn{kind: c.column, name: fmt.Sprintf("c%d", i), values: slices.Clone(c.values), noBinary: c.noBinary, foreign: foreign})
	}
	return list
}

// TestEveryTypeOnEveryWay: whatever way a value takes into a column, and out of it and in again, it is the same one.
func TestEveryTypeOnEveryWay(t *testing.T) {
	conn, _ := connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	m := &matrixRun{t: t, ctx: ctx, conn: conn.PgConn(), columns: matrixTypes()}
	for _, c := range m.columns {
		m.rows = max(m.rows, len(c.values)+1)
	}
	for _, c := range m.columns {
		for len(c.values) < m.rows {
			c.values = append(c.values, "NULL")
		}
	}
	declared := m.list(", ", func(i int, c *matrixColumn) string { return fmt.Sprintf("c%d %s", i, c.kind) })
	require.NoError(t, m.exec("DROP TABLE IF EXISTS matrix_all; CREATE TABLE matrix_all (n integer, "+declared+")"))
	returned := m.conn.ExecParams(ctx, "INSERT INTO matrix_all VALUES "+m.each(", ", "(%d, ", ")", plain)+" RETURNING *", nil, nil, nil, nil).Read()
	require.NoError(t, returned.Err)
	m.read(returned)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			m.take(t, w, func(c *matrixColumn) bool { return !c.foreign })
			m.take(t, w, func(c *matrixColumn) bool { return c.foreign }) // PostgreSQL's parser knows no value of those
		})
	}
}

// take fills a table in one way, of all columns at once; the types of a way that fails are tried one by one.
func (m *matrixRun) take(t *testing.T, w way, wanted func(c *matrixColumn) bool) {
	whole := *m
	whole.columns = slices.DeleteFunc(slices.Clone(m.columns), func(c *matrixColumn) bool { return !wanted(c) || slices.Contains(unlike[w.name], c.kind) })
	err := whole.fill(w)
	if err == nil {
		return
	}
	reported := false // with its type
	for _, c := range whole.columns {
		one := *m
		one.columns = []*matrixColumn{c}
		if err := one.fill(w); err != nil {
			t.Errorf("%s: %v", c.kind, err)
			reported = true
		}
	}
	if !reported {
		t.Error(err)
	}
}

func (m *matrixRun) fill(w way) error {
	declared := m.list(", ", func(i int, c *matrixColumn) string { return fmt.Sprintf("c%d %s", i, c.kind) })
	some := m.list(", ", func(_ int, c *matrixColumn) string { return c.name })
	if err := m.exec("DROP TABLE IF EXISTS matrix_in; CREATE TABLE matrix_in (n integer, " + declared + "); DROP TABLE IF EXISTS matrix_ref; CREATE TABLE matrix_ref (n integer, " +
		declared + "); INSERT INTO matrix_ref SELECT n, " + some + " FROM matrix_all"); err != nil {
		return err
	}
	if err := w.fill(m); err != nil {
		m.exec("DEALLOCATE ALL")
		m.exec("DROP TABLE IF EXISTS matrix_default; DROP VIEW IF EXISTS matrix_view; DROP TABLE IF EXISTS matrix_temp")
		return err
	}
	result := m.conn.ExecParams(m.ctx, "SELECT o.n, i.n, "+m.list(", ", func(i int, _ *matrixColumn) string { return fmt.Sprintf("o.c%d::VARCHAR, i.c%d::VARCHAR", i, i) })+
		" FROM matrix_ref o FULL JOIN matrix_in i ON o.n = i.n WHERE o.n IS NULL OR i.n IS NULL OR "+m.list(" OR ", func(i int, _ *matrixColumn) string {
		return fmt.Sprintf("o.c%d IS DISTINCT FROM i.c%d OR o.c%d::VARCHAR IS DISTINCT FROM i.c%d::VARCHAR OR typeof(o.c%d) <> typeof(i.c%d)", i, i, i, i, i, i)
	})+" ORDER BY 1, 2", nil, nil, nil, nil).Read()
	if result.Err != nil || len(result.Rows) == 0 {
		return result.Err
	}
	return fmt.Errorf("rows differ: %q", result.Rows[0])
}

// read takes the values out in all ways, which must agree, and keeps them.
func (m *matrixRun) read(returned *pgconn.Result) {
	const sql = "SELECT * FROM matrix_all ORDER BY n"
	formats := []int16{0}
	for _, c := range m.columns {
		format := int16(1)
		if c.noBinary {
			format = 0
			require.Error(m.t, m.conn.ExecParams(m.ctx, "SELECT "+c.name+" FROM matrix_all", nil, nil, nil, []int16{1}).Read().Err, c.kind)
		}
		formats = append(formats, format)
	}
	text := m.conn.ExecParams(m.ctx, sql, nil, nil, nil, nil).Read()
	require.NoError(m.t, text.Err)
	require.Len(m.t, text.Rows, m.rows)
	require.Equal(m.t, text.Rows, returned.Rows, "RETURNING")
	simple, err := m.conn.Exec(m.ctx, sql).ReadAll()
	require.NoError(m.t, err)
	require.Equal(m.t, text.Rows, simple[0].Rows, "simple protocol")
	binary := m.conn.ExecParams(m.ctx, sql, nil, nil, nil, formats).Read()
	require.NoError(m.t, binary.Err)
	for i, c := range m.columns {
		c.oid = text.FieldDescriptions[i+1].DataTypeOID
		for n := range m.rows {
			c.text = append(c.text, text.Rows[n][i+1])
			if !c.noBinary {
				c.binary = append(c.binary, binary.Rows[n][i+1])
			}
		}
		m.kernels(i, c)
	}
}

// kernels compares what the Arrow kernels give; they say so of types that they do not have.
func (m *matrixRun) kernels(i int, c *matrixColumn) {
	results, err := m.conn.Exec(m.ctx, "SET csm.backend = 'compute'; SELECT n, "+c.name+" FROM matrix_all").ReadAll()
	require.NoError(m.t, m.exec("RESET csm.backend"))
	if err != nil {
		require.ErrorContains(m.t, err, "the Arrow-kernel backend cannot run this")
		return
	}
	require.Len(m.t, results[1].Rows, m.rows)
	for n, row := range results[1].Rows {
		require.Equal(m.t, c.text[n], row[1], "%s: the Arrow kernels", c.kind)
	}
}
