package main_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

// state asserts an error's SQLSTATE and returns the error.
func state(t *testing.T, err error, want string) *pgconn.PgError {
	t.Helper()
	var failed *pgconn.PgError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, want, failed.Code, failed.Message)
	return failed
}

// TestPrepared: a statement is prepared once and executed with different arguments, also after its table has changed.
func TestPrepared(t *testing.T) {
	conn, ctx := shared.get(t).connect(t), deadline(t)
	_, err := conn.Exec(ctx, "CREATE TABLE prepared_t AS SELECT range::integer AS i, 'v' || range AS v FROM range(1000)")
	require.NoError(t, err)
	_, err = conn.Prepare(ctx, "by_key", "SELECT v FROM prepared_t WHERE i = $1")
	require.NoError(t, err)
	for _, key := range []int{0, 7, 999} {
		var v string
		require.NoError(t, conn.QueryRow(ctx, "by_key", key).Scan(&v))
		require.Equal(t, fmt.Sprintf("v%d", key), v)
	}
	_, err = conn.Exec(ctx, "INSERT INTO prepared_t VALUES ($1, $2)", 5000, "added")
	require.NoError(t, err)
	var v string
	require.NoError(t, conn.QueryRow(ctx, "by_key", 5000).Scan(&v))
	require.Equal(t, "added", v)

	_, err = conn.Exec(ctx, "DEALLOCATE by_key")
	require.NoError(t, err)
	_, err = conn.Exec(ctx, "DEALLOCATE by_key")
	state(t, err, "26000")
	_, err = conn.Exec(ctx, "DROP TABLE prepared_t")
	require.NoError(t, err)
}

// TestPortal: a portal gives a few rows at a time, and other statements run in between.
func TestPortal(t *testing.T) {
	n, ctx := shared.get(t), deadline(t)
	conn, err := pgconn.Connect(ctx, n.url())
	require.NoError(t, err)
	hijacked, err := conn.Hijack()
	require.NoError(t, err)
	defer hijacked.Conn.Close()
	front := hijacked.Frontend
	rows, suspended, interludes := 0, 0, 0
	expect := func() (ended bool) {
		for {
			message, err := front.Receive()
			require.NoError(t, err)
			switch message := message.(type) {
			case *pgproto3.DataRow:
				if string(message.Values[0]) == "interlude" {
					interludes++
					continue
				}
				require.Equal(t, fmt.Sprint(rows), string(message.Values[0]))
				rows++
			case *pgproto3.PortalSuspended:
				suspended++
			case *pgproto3.CommandComplete:
				ended = ended || string(message.CommandTag) == "SELECT 2"
			case *pgproto3.ErrorResponse:
				require.Fail(t, message.Message)
			case *pgproto3.ReadyForQuery:
				return ended
			}
		}
	}
	front.SendQuery(&pgproto3.Query{String: "BEGIN"})
	require.NoError(t, front.Flush())
	expect()
	front.SendParse(&pgproto3.Parse{Query: "SELECT range FROM range(10002) ORDER BY range"})
	front.SendBind(&pgproto3.Bind{DestinationPortal: "p"})
	for ended := false; !ended; {
		front.SendExecute(&pgproto3.Execute{Portal: "p", MaxRows: 5000})
		front.SendSync(&pgproto3.Sync{})
		require.NoError(t, front.Flush())
		if ended = expect(); !ended {
			front.SendQuery(&pgproto3.Query{String: "SELECT 'interlude' FROM range(1)"})
			require.NoError(t, front.Flush())
			expect()
		}
	}
	require.Equal(t, []int{10002, 2, 2}, []int{rows, suspended, interludes})
}

// TestBatch: a pipeline is one unit; a failure in it leaves nothing.
func TestBatch(t *testing.T) {
	conn, ctx := shared.get(t).connect(t), deadline(t)
	_, err := conn.Exec(ctx, "CREATE TABLE batched (i integer)")
	require.NoError(t, err)
	send := func(statements ...string) error {
		batch := &pgx.Batch{}
		for _, sql := range statements {
			batch.Queue(sql)
		}
		return conn.SendBatch(ctx, batch).Close()
	}
	require.NoError(t, send("INSERT INTO batched VALUES (1)", "INSERT INTO batched VALUES (2)", "SELECT * FROM batched"))
	state(t, send("INSERT INTO batched VALUES (3)", "SELECT 1/0 + 'x'::integer", "INSERT INTO batched VALUES (4)"), "22P02")
	var count int
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM batched").Scan(&count))
	require.Equal(t, 2, count)
}

// TestCancel: a cancelled statement ends soon with 57014, and the connection is good for the next one.
func TestCancel(t *testing.T) {
	n, ctx := shared.get(t), deadline(t)
	config, err := pgx.ParseConfig(n.url())
	require.NoError(t, err)
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: patience}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	require.NoError(t, err)
	defer conn.Close(ctx)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err = conn.Exec(short, endless)
	state(t, err, "57014")
	require.Less(t, time.Since(begin), patience/2)
	require.NoError(t, conn.Ping(ctx))

	_, err = conn.Exec(ctx, "SET statement_timeout = '100ms'")
	require.NoError(t, err)
	_, err = conn.Exec(ctx, endless)
	require.Contains(t, state(t, err, "57014").Message, "timeout")
	_, err = conn.Exec(ctx, "CREATE TABLE never (a int)")
	require.NoError(t, err)
	conn.PgConn().Frontend().SendQuery(&pgproto3.Query{String: "COPY never FROM STDIN"}) // and no rows
	require.NoError(t, conn.PgConn().Frontend().Flush())
	for {
		message, err := conn.PgConn().Frontend().Receive()
		require.NoError(t, err)
		if e, ok := message.(*pgproto3.ErrorResponse); ok {
			require.Equal(t, "57014 canceling statement due to statement timeout", e.Code+" "+e.Message)
		}
		if _, ok := message.(*pgproto3.ReadyForQuery); ok {
			break
		}
	}
	_, err = conn.Exec(ctx, "RESET statement_timeout; SELECT 1")
	require.NoError(t, err)
}

// TestTransactions: no other session sees what is not committed; conflicting writers get 40001; a failed block accepts
// only ROLLBACK.
func TestTransactions(t *testing.T) {
	n, ctx := shared.get(t), deadline(t)
	one, two := n.connect(t), n.connect(t)
	_, err := one.Exec(ctx, "CREATE TABLE shared_t (i integer)")
	require.NoError(t, err)
	count := func(c *pgx.Conn) (n int) {
		require.NoError(t, c.QueryRow(ctx, "SELECT count(*) FROM shared_t").Scan(&n))
		return n
	}
	tx, err := one.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "INSERT INTO shared_t VALUES (1)")
	require.NoError(t, err)
	require.Equal(t, 1, count(one))
	require.Equal(t, 0, count(two))
	require.NoError(t, tx.Commit(ctx))
	require.Equal(t, 1, count(two))

	tx, err = one.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	require.Equal(t, 1, count(one))
	_, err = two.Exec(ctx, "CREATE OR REPLACE TABLE shared_t AS SELECT 7 AS i")
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "TRUNCATE shared_t")
	if err == nil {
		err = tx.Commit(ctx)
	} else {
		require.NoError(t, tx.Rollback(ctx))
	}
	state(t, err, "40001")

	tx, err = one.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "SELECT * FROM nothing_of_that_name")
	require.Positive(t, state(t, err, "42P01").Position)
	_, err = tx.Exec(ctx, "SELECT 1")
	state(t, err, "25P02")
	require.NoError(t, tx.Rollback(ctx))
	require.Equal(t, 1, count(one))
}

// TestTypes sends a value of every common type as a parameter and reads it back, in text and in binary.
func TestTypes(t *testing.T) {
	conn, ctx := shared.get(t).connect(t), deadline(t)
	at := time.Date(2024, 6, 30, 12, 34, 56, 789012000, time.UTC)
	number := pgtype.Numeric{}
	require.NoError(t, number.Scan("-12345678901234567.123456789"))
	cases := []struct {
		name  string
		value any
		text  string
	}{
		{"boolean", true, "true"},
		{"smallint", int16(-32768), "-32768"},
		{"integer", int32(2147483647), "2147483647"},
		{"bigint", int64(-9223372036854775808), "-9223372036854775808"},
		{"real", float32(1.5), "1.5"},
		{"double precision", 0.1, "0.1"},
		{"numeric(38, 9)", number, "-12345678901234567.123456789"},
		{"varchar", "süß 'quoted' \\ \n", "süß 'quoted' \\ \n"},
		{"bytea", []byte{0, 1, 255, '\\'}, `\x0001ff5c`},
		{"date", time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), "1970-01-01"},
		{"time", pgtype.Time{Microseconds: 86399999999, Valid: true}, "23:59:59.999999"},
		{"timestamp", at, "2024-06-30 12:34:56.789012"},
		{"timestamptz", at, "2024-06-30 12:34:56.789012+00"},
		{"interval", pgtype.Interval{Months: 14, Days: -3, Microseconds: 3723000004, Valid: true}, "1 year 2 mons -3 days +01:02:03.000004"},
		{"uuid", [16]byte{0x12, 0x34, 15: 0xff}, "12340000-0000-0000-0000-0000000000ff"},
	}
	for _, c := range cases {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeDescribeExec, pgx.QueryExecModeSimpleProtocol} {
			for _, format := range []int16{pgx.TextFormatCode, pgx.BinaryFormatCode} {
				if mode == pgx.QueryExecModeSimpleProtocol && (format == pgx.BinaryFormatCode || c.name == "uuid" || c.name == "bytea") {
					continue // pgx itself cannot write a [16]byte there; bytea literals are the engine's dialect
				}
				t.Run(fmt.Sprintf("%s/%v/%d", strings.ReplaceAll(c.name, " ", "_"), mode, format), func(t *testing.T) {
					sql := "SELECT $1::" + c.name + " AS same, $1::" + c.name + "::varchar AS shown, $2::" + c.name + " IS NULL AS missing"
					got := valueLike(c.value)
					var shown string
					var missing bool
					require.NoError(t, conn.QueryRow(ctx, sql, mode, pgx.QueryResultFormats{format, 0, 0}, c.value, nil).Scan(got, &shown, &missing))
					require.Equal(t, c.value, dereference(got))
					if c.name != "interval" && c.name != "bytea" { // the engine's own casts write these otherwise
						require.Equal(t, c.text, shown)
					}
					require.True(t, missing)
				})
			}
		}
	}
}

// valueLike is a pointer to a zero value of v's type.
func valueLike(v any) any {
	switch v.(type) {
	case bool:
		return new(bool)
	case int16:
		return new(int16)
	case int32:
		return new(int32)
	case int64:
		return new(int64)
	case float32:
		return new(float32)
	case float64:
		return new(float64)
	case pgtype.Numeric:
		return new(pgtype.Numeric)
	case string:
		return new(string)
	case []byte:
		return new([]byte)
	case time.Time:
		return new(time.Time)
	case pgtype.Time:
		return new(pgtype.Time)
	case pgtype.Interval:
		return new(pgtype.Interval)
	}
	return new([16]byte)
}

func dereference(p any) any {
	switch p := p.(type) {
	case *bool:
		return *p
	case *int16:
		return *p
	case *int32:
		return *p
	case *int64:
		return *p
	case *float32:
		return *p
	case *float64:
		return *p
	case *pgtype.Numeric:
		return *p
	case *string:
		return *p
	case *[]byte:
		return *p
	case *time.Time:
		return p.UTC()
	case *pgtype.Time:
		return *p
	case *pgtype.Interval:
		return *p
	}
	return *p.(*[16]byte)
}

// TestDeclaredTypes: a result column that shows a table's column has its declared type, length and precision.
func TestDeclaredTypes(t *testing.T) {
	conn, ctx := shared.get(t).connect(t), deadline(t)
	_, err := conn.Exec(ctx, "CREATE TABLE declared_types (a varchar(3), b char(2), c varchar, d timestamp(3))")
	require.NoError(t, err)
	described := func(sql string) (types []string) {
		d, err := conn.Prepare(ctx, "", sql)
		require.NoError(t, err)
		for _, f := range d.Fields {
			types = append(types, fmt.Sprintf("%d(%d)", f.DataTypeOID, f.TypeModifier))
		}
		return types
	}
	require.Equal(t, []string{"1043(7)", "1042(6)", "25(-1)", "1114(3)"}, described("SELECT * FROM declared_types"))
	require.Equal(t, []string{"25(-1)", "1043(7)"}, described("SELECT a || b, x.a FROM declared_types AS x WHERE a = $1"))
	_, err = conn.Exec(ctx, "INSERT INTO declared_types (a) VALUES ($1)", "abc")
	require.NoError(t, err)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeSimpleProtocol} {
		_, err = conn.Exec(ctx, "INSERT INTO declared_types (a) VALUES ($1)", mode, "abcd")
		var failed *pgconn.PgError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, "22001", failed.Code)
	}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"declared_types"}, []string{"a"}, pgx.CopyFromRows([][]any{{"abcd"}}))
	require.ErrorContains(t, err, "value too long for type character varying(3)")
	var a string
	require.NoError(t, conn.QueryRow(ctx, "SELECT a FROM declared_types").Scan(&a))
	require.Equal(t, "abc", a)
}

// TestOrigins: drivers find a result column's table and column in the system catalogs by what the row description says.
func TestOrigins(t *testing.T) {
	conn, ctx := shared.get(t).connect(t), deadline(t)
	for _, sql := range []string{
		"CREATE TABLE origin (k BIGINT, id UUID, label TEXT)", "CREATE VIEW origin_view AS SELECT label AS l, k FROM origin", "CREATE TEMP TABLE origin_private (k INTEGER)",
	} {
		_, err := conn.Exec(ctx, sql)
		require.NoError(t, err, sql)
	}
	described := func(sql string) (origins []string) {
		d, err := conn.Prepare(ctx, "", sql)
		require.NoError(t, err)
		for _, f := range d.Fields {
			var name string
			err := conn.QueryRow(ctx, "SELECT c.relname || '.' || a.attname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid WHERE c.oid = $1 AND a.attnum = $2",
				f.TableOID, int16(f.TableAttributeNumber)).Scan(&name)
			if errors.Is(err, pgx.ErrNoRows) {
				require.Zero(t, f.TableOID)
				err = nil
			}
			require.NoError(t, err)
			origins = append(origins, name)
		}
		return origins
	}
	require.Equal(t, []string{"origin.k", "origin.id", "origin.label"}, described("SELECT * FROM origin"))
	require.Equal(t, []string{"origin.label", "", "origin.k"}, described("SELECT o.label AS other, count(*), k FROM public.origin o GROUP BY 1, 3"))
	require.Equal(t, []string{"origin_view.l", "origin.id"}, described("SELECT v.l, o.id FROM origin_view v JOIN origin o ON v.k = o.k WHERE o.k = $1"))
	require.Equal(t, []string{""}, described("SELECT k FROM origin_private"))

	// The type of a UUID is described beside its origin.
	rows, err := conn.Query(ctx, "SELECT id FROM origin")
	require.NoError(t, err)
	rows.Close()
	require.Equal(t, uint32(pgtype.UUIDOID), rows.FieldDescriptions()[0].DataTypeOID)
	require.NotZero(t, rows.FieldDescriptions()[0].TableOID)
}

// TestArrays: lists come back as arrays, and arrays go in as parameters.
func TestArrays(t *testing.T) {
	conn, ctx := shared.get(t).connect(t), deadline(t)
	var ints []int32
	var texts []string
	require.NoError(t, conn.QueryRow(ctx, "SELECT [1, 2, 3], ['a', 'b \"c\"', '']").Scan(&ints, &texts))
	require.Equal(t, []int32{1, 2, 3}, ints)
	require.Equal(t, []string{"a", `b "c"`, ""}, texts)
	require.NoError(t, conn.QueryRow(ctx, "SELECT $1::varchar[]", pgx.QueryExecModeExec, []string{"x, y", `q"uo\te`, ""}).Scan(&texts))
	require.Equal(t, []string{"x, y", `q"uo\te`, ""}, texts)
	var count int
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM range(10) WHERE range = ANY($1::bigint[])", pgx.QueryExecModeExec, []int64{3, 5, 50}).Scan(&count))
	require.Equal(t, 2, count)
	var ids [][16]byte
	var document map[string]any
	require.NoError(t, conn.QueryRow(ctx, `SELECT ['00000000-0000-0000-0000-0000000000ff'::uuid], '{"a": [1]}'::json`).Scan(&ids, &document))
	require.Equal(t, [][16]byte{{15: 0xff}}, ids)
	require.Equal(t, map[string]any{"a": []any{1.0}}, document)
}

// TestSumsOfIntegers: a sum of integers is a bigint, in text and in binary, and one of bigints a numeric.
func TestSumsOfIntegers(t *testing.T) {
	conn, ctx := shared.get(t).connect(t), deadline(t)
	_, err := conn.Exec(ctx, "CREATE TABLE summed AS SELECT i::int AS i, i::bigint AS big FROM generate_series(-3, 5) AS i")
	require.NoError(t, err)
	const ask = "SELECT sum(i), sum(-i), sum(big) FROM summed"
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeSimpleProtocol} {
		rows, err := conn.Query(ctx, ask, mode)
		require.NoError(t, err)
		require.True(t, rows.Next())
		values, err := rows.Values()
		require.NoError(t, err)
		require.Equal(t, []any{int64(9), int64(-9)}, values[:2])
		require.IsType(t, pgtype.Numeric{}, values[2])
		rows.Close()
		require.NoError(t, rows.Err())
	}
}

// TestLooseParameters: where nothing in the statement gives a parameter its type, the client's word or the value beside it
// does, as in PostgreSQL; errors point into the client's text all the same.
func TestLooseParameters(t *testing.T) {
	conn, ctx := shared.get(t).connect(t), deadline(t)
	_, err := conn.Exec(ctx, "CREATE TABLE loose AS SELECT range AS i, range::decimal(10, 2) / 4 AS d FROM range(100)")
	require.NoError(t, err)
	var n int64
	require.NoError(t, conn.QueryRow(ctx, "SELECT $1 + 1", 41).Scan(&n))
	require.EqualValues(t, 42, n)
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM loose WHERE i = ANY($1)", []int64{3, 5, 500}).Scan(&n))
	require.EqualValues(t, 2, n)
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM loose WHERE i <> ALL ( $1 ) AND i < $2", []int64{3, 5, 500}, 10).Scan(&n))
	require.EqualValues(t, 8, n)
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM loose WHERE i::text ~ ANY($1) AND i::text LIKE $2", []string{"^4", "7$"}, "_7").Scan(&n))
	require.EqualValues(t, 9, n)
	require.NoError(t, conn.QueryRow(ctx, "SELECT i FROM loose ORDER BY i LIMIT $1 OFFSET $2", 1, 7).Scan(&n))
	require.EqualValues(t, 7, n)

	typed := func(oid uint32, sql, value string) (string, error) {
		result := conn.PgConn().ExecParams(ctx, sql, [][]byte{[]byte(value)}, []uint32{oid}, nil, nil).Read()
		if result.Err != nil {
			return "", result.Err
		}
		return string(result.Rows[0][0]), nil
	}
	for _, c := range []struct {
		oid              uint32
		sql, value, want string
	}{
		{pgtype.Int4OID, "SELECT $1 * 2", "21", "42"},
		{pgtype.DateOID, "SELECT $1 + 1", "2024-02-28", "2024-02-29"},
		{pgtype.NumericOID, "SELECT $1 = 1.50", "1.5", "t"},
		{pgtype.BoolOID, "SELECT NOT $1", "t", "f"},
		{pgtype.Int8ArrayOID, "SELECT $1", "{1,2,3}", "{1,2,3}"},
	} {
		got, err := typed(c.oid, c.sql, c.value)
		require.NoError(t, err, c.sql)
		require.Equal(t, c.want, got, c.sql)
	}
	_, err = typed(pgtype.NumericOID, "SELECT $1 + 1", "0.1234567890123456789")
	require.Contains(t, state(t, err, "22003").Message, "more than 18 digits")
	_, err = typed(pgtype.Int4OID, "SELECT 'ä', $1 + 1, nowhere FROM loose", "1")
	require.EqualValues(t, len("SELECT 'a', $1 + 1, ")+1, state(t, err, "42703").Position)
}

// TestCopyProtocol: COPY in all formats, in and out.
func TestCopyProtocol(t *testing.T) {
	conn, ctx := shared.get(t).connect(t), deadline(t)
	_, err := conn.Exec(ctx, "CREATE TABLE streamed (i integer, v varchar, d date, n decimal(12, 3), at timestamptz, b bytea)")
	require.NoError(t, err)
	at := time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC)
	var number pgtype.Numeric
	require.NoError(t, number.Scan("12.345"))
	written, err := conn.CopyFrom(ctx, pgx.Identifier{"streamed"}, []string{"i", "v", "d", "n", "at", "b"}, pgx.CopyFromRows([][]any{
		{1, "one", at, number, at, []byte{0, 255}}, {2, nil, nil, nil, nil, nil}, {3, "tab\tnew\nline\\", at, number, at, []byte{}},
	}))
	require.NoError(t, err)
	require.EqualValues(t, 3, written)
	var out strings.Builder
	_, err = conn.PgConn().CopyTo(ctx, &out, "COPY (SELECT * FROM streamed ORDER BY i) TO STDOUT")
	require.NoError(t, err)
	require.Equal(t, "1\tone\t2024-02-29\t12.345\t2024-02-29 01:02:03+00\t\\\\x00ff\n2\t\\N\t\\N\t\\N\t\\N\t\\N\n"+
		"3\ttab\\tnew\\nline\\\\\t2024-02-29\t12.345\t2024-02-29 01:02:03+00\t\\\\x\n", out.String())

	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader("4,ok\nfive,bad\n"), "COPY streamed (i, v) FROM STDIN WITH (FORMAT csv)")
	state(t, err, "22P02")
	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader("4,ok,surplus\n"), "COPY streamed (i, v) FROM STDIN WITH (FORMAT csv)")
	state(t, err, "22P04")
	var count int
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM streamed").Scan(&count))
	require.Equal(t, 3, count)
}

// TestSettings: SET is seen by SHOW and reported to the client; start-up options are settings, too.
func TestSettings(t *testing.T) {
	n, ctx := shared.get(t), deadline(t)
	conn, err := pgx.Connect(ctx, n.url()+"&application_name=tester&options=-c%20search_path%3Dmain,public")
	require.NoError(t, err)
	defer conn.Close(ctx)
	show := func(name string) (value string) {
		require.NoError(t, conn.QueryRow(ctx, "SHOW "+name).Scan(&value))
		return value
	}
	require.Equal(t, "tester", show("application_name"))
	require.Equal(t, "main,public", strings.ReplaceAll(show("search_path"), " ", ""))
	_, err = conn.Exec(ctx, "SET TimeZone = 'Europe/Berlin'")
	require.NoError(t, err)
	require.Equal(t, "Europe/Berlin", conn.PgConn().ParameterStatus("TimeZone"))
	var shown string
	require.NoError(t, conn.QueryRow(ctx, "SELECT '2024-06-30 12:00:00+00'::timestamptz::varchar").Scan(&shown))
	require.Equal(t, "2024-06-30 14:00:00+02", shown)
	_, err = conn.Exec(ctx, "RESET TimeZone")
	require.NoError(t, err)
	require.Equal(t, "Etc/UTC", conn.PgConn().ParameterStatus("TimeZone"))
	_, err = conn.Exec(ctx, "SET no_such_setting = 1")
	state(t, err, "42704")
	_, err = pgx.Connect(ctx, n.url()+"&options=-c%20no_such_setting%3D1")
	state(t, err, "42704")
}

// TestDatabases: there is one; a client that asks for another one gets an error.
func TestDatabases(t *testing.T) {
	n, ctx := shared.get(t), deadline(t)
	for _, name := range []string{"csmsql", "postgres", "anna"} {
		conn, err := pgx.Connect(ctx, "postgres://anna@"+n.frontend.Address+"/"+name+"?sslmode=disable")
		require.NoError(t, err, name)
		require.NoError(t, conn.Close(ctx))
	}
	_, err := pgx.Connect(ctx, "postgres://anna@"+n.frontend.Address+"/other?sslmode=disable")
	require.Contains(t, state(t, err, "3D000").Hint, "dbname=csmsql")
}

// TestManyClients: sessions at once, each with its own temporary table.
func TestManyClients(t *testing.T) {
	n, ctx := shared.get(t), deadline(t)
	var clients sync.WaitGroup
	for i := range 16 {
		conn := n.connect(t)
		clients.Go(func() {
			var sum int
			_, err := conn.Exec(ctx, fmt.Sprintf("CREATE TEMP TABLE mine AS SELECT %d AS i", i))
			if err == nil {
				err = conn.QueryRow(ctx, "SELECT sum(i)::integer FROM mine").Scan(&sum)
			}
			if err != nil || sum != i {
				t.Errorf("client %d: %d, %v", i, sum, err)
			}
		})
	}
	clients.Wait()
}

// TestIdleTimeouts: a client that sends nothing for too long gets an error, and its connection ends; what it wrote is
// gone.
func TestIdleTimeouts(t *testing.T) {
	n, ctx := shared.get(t), deadline(t)
	for _, c := range []struct{ setup, state, message string }{
		{"SET idle_session_timeout = '1ms'", "57P05", "terminating connection due to idle-session timeout"},
		{"SET idle_in_transaction_session_timeout = '1ms'; BEGIN; CREATE TABLE idle (a int)", "25P03", "terminating connection due to idle-in-transaction timeout"},
		{"SET idle_in_transaction_session_timeout = '1ms'; BEGIN; SELECT nonsense", "25P03", "terminating connection due to idle-in-transaction timeout"},
	} {
		conn := n.connect(t)
		_, _ = conn.Exec(ctx, c.setup) // the last one fails
		message, err := conn.PgConn().ReceiveMessage(ctx)
		if err == nil {
			_, err = conn.PgConn().ReceiveMessage(ctx)
			e, ok := message.(*pgproto3.ErrorResponse)
			require.True(t, ok, "%T", message)
			require.Equal(t, []string{"FATAL", c.state, c.message}, []string{e.Severity, e.Code, e.Message})
		} else {
			fatal := state(t, err, c.state)
			require.Equal(t, []string{"FATAL", c.message}, []string{fatal.Severity, fatal.Message})
		}
		require.Error(t, err)
	}
	conn := n.connect(t)
	_, err := conn.Exec(ctx, "SELECT * FROM idle")
	state(t, err, "42P01")
	// In a transaction the session is not idle, and outside of one no transaction is; what runs is not idle either.
	_, err = conn.Exec(ctx, "BEGIN; SET idle_session_timeout = 1; SET LOCAL statement_timeout = 0")
	require.NoError(t, err)
	var one int
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*)::int FROM (SELECT 1 AS a)").Scan(&one))
	_, err = conn.Exec(ctx, "RESET idle_session_timeout; COMMIT; SET idle_in_transaction_session_timeout = 1")
	require.NoError(t, err)
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*)::int FROM range(3000000)").Scan(&one))
	require.Equal(t, 3000000, one)
}

// TestASilentClientKeepsNoSnapshot: an open READ COMMITTED transaction holds its snapshot while a statement of it runs,
// or a result is read, and not while its client is silent.
func TestASilentClientKeepsNoSnapshot(t *testing.T) {
	n, ctx := startNode(t, "--http", "127.0.0.1:0"), deadline(t)
	metrics := "http://" + regexp.MustCompile(`http://(\S+)/metrics`).FindStringSubmatch(n.banner)[1] + "/metrics"
	leases := func() string {
		return regexp.MustCompile(`(?m)^csmsql_leases (\S+)`).FindStringSubmatch(get(t, metrics))[1]
	}
	none := func() bool { return leases() == "0" }
	conn := n.connect(t)
	_, err := conn.Exec(ctx, "CREATE TABLE silent AS SELECT range AS k FROM range(300000)")
	require.NoError(t, err)
	ask := func(tx pgx.Tx) {
		var count int
		require.NoError(t, tx.QueryRow(ctx, "SELECT count(*)::int FROM silent").Scan(&count))
		require.Equal(t, 300000, count)
	}
	for level, keeps := range map[pgx.TxIsoLevel]bool{pgx.ReadCommitted: false, pgx.RepeatableRead: true} {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
		require.NoError(t, err)
		for range 2 {
			ask(tx)
			if keeps {
				require.NotEqual(t, "0", leases())
			} else {
				require.Eventually(t, none, patience, time.Millisecond)
			}
		}
		require.NoError(t, tx.Rollback(ctx))
		require.Eventually(t, none, patience, time.Millisecond)
	}
}
