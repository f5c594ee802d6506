package frontend_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/frontend"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/queries"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
	"github.com/csmsql/csmsql/wire"
)

// reads counts what is done with texts while it listens.
type reads struct {
	mu                      sync.Mutex
	found                   map[lex.Finding]int
	parsed, scanned, duckdb []string
}

func listen(t *testing.T) *reads {
	r := &reads{found: map[lex.Finding]int{}}
	note := func(list *[]string) func(string) {
		return func(text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			*list = append(*list, text)
		}
	}
	t.Cleanup(lex.Found.Hear(func(f lex.Finding) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.found[f]++
	}))
	t.Cleanup(tree.Parsed.Hear(note(&r.parsed)))
	t.Cleanup(tree.Scanned.Hear(note(&r.scanned)))
	t.Cleanup(duckdb.Parsed.Hear(note(&r.duckdb)))
	return r
}

func (r *reads) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.found)
	r.parsed, r.scanned, r.duckdb = nil, nil, nil
}

// done is what was done with the text since it was forgotten: how often it was lexed from the beginning to the end,
// which is how often the token was found that was found least; and how many texts PostgreSQL's parser, its lexer and
// DuckDB's parser were given, whichever they were.
func (r *reads) done(sql string) counts {
	r.mu.Lock()
	c := counts{postgres: len(r.parsed), scanned: len(r.scanned), duckdb: len(r.duckdb)}
	found := maps.Clone(r.found)
	r.mu.Unlock() // to find the tokens is heard, too
	for t := range lex.Client.Tokens(sql) {
		n := found[lex.Finding{SQL: sql, Start: t.Start}]
		if t.Start == 0 || n < c.lexed {
			c.lexed = n
		}
	}
	return c
}

type counts struct{ lexed, postgres, scanned, duckdb int }

// A SELECT's text is lexed once, whatever is in it and by whichever protocol it comes, and parsed at most once by each
// parser, however many views it reads. What is parsed beside it is another text each, and is said beside the numbers.
func TestReadings(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("nothing is counted without -tags invariants")
	}
	e, err := engine.Open(t.Context(), engine.Config{RegionDirectory: shmdir.For(t), MemoryBytes: 512 << 20, Threads: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	require.NoError(t, e.LoadTPCH(t.Context(), noderpc.TPCHRequest{ScaleFactor: 0.001}, nil))
	backend := frontend.New(e, slog.New(slog.DiscardHandler))
	directory := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(directory, ".s.PGSQL.5432"))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- wire.NewServer(backend, wire.Options{}).Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
		backend.Wait()
	})
	for _, dialect := range []string{"postgres", "duckdb"} {
		conn := connect(t, directory, dialect)
		t.Run(dialect+"/INSERT", func(t *testing.T) { testInsertsArePlannedOnce(t, conn) })
		for _, sql := range []string{
			"CREATE OR REPLACE VIEW few AS SELECT l_orderkey, l_quantity FROM lineitem WHERE l_orderkey < 100",
			"CREATE OR REPLACE VIEW fewer(k) AS SELECT l_orderkey FROM few WHERE l_quantity > 3;",
			"SELECT * FROM few, fewer", "SELECT relname FROM pg_class", // a view's text is parsed when it is seen first
		} {
			_, err := conn.Exec(t.Context(), sql)
			require.NoError(t, err)
		}
		r := listen(t)
		for _, q := range readings {
			sql := q.sql
			if q.sql == "" {
				sql = queries.TPCH()[q.tpch-1].SQL
			}
			want := q.want
			if dialect == "postgres" && q.postgres != (counts{}) {
				want = q.postgres
			}
			t.Run(dialect+"/"+sql[:min(len(sql), 60)], func(t *testing.T) {
				r.forget()
				statement, err := conn.Prepare(t.Context(), "", sql)
				require.NoError(t, err)
				require.Equal(t, want, r.done(sql), "%q %q", r.parsed, r.duckdb)

				r.forget()
				for range 2 { // what was prepared is neither lexed nor parsed again
					arguments := [][]byte{[]byte("7")}[:len(statement.ParamOIDs)]
					result := conn.PgConn().ExecPrepared(t.Context(), "", arguments, nil, nil).Read()
					require.NoError(t, result.Err)
				}
				require.Equal(t, counts{}, r.done(sql), "%q %q", r.parsed, r.duckdb)

				if len(statement.ParamOIDs) > 0 {
					return
				}
				r.forget()
				_, err = conn.PgConn().Exec(t.Context(), sql).ReadAll()
				require.NoError(t, err)
				want.lexed = max(want.lexed, 1) // to cut the string into statements
				require.Equal(t, want, r.done(sql), "%q %q", r.parsed, r.duckdb)
			})
		}
	}
}

// testInsertsArePlannedOnce: an INSERT that was prepared is not planned again because it writes, nor because it, or
// another, has written. One whose rows need no DuckDB is not planned at all.
func testInsertsArePlannedOnce(t *testing.T, conn *pgx.Conn) {
	_, err := conn.Exec(t.Context(), "CREATE OR REPLACE TABLE written (i int, s text)")
	require.NoError(t, err)
	r := listen(t)
	for sql, planned := range map[string]bool{
		"INSERT INTO written SELECT $1::int, 'x'":        true,
		"INSERT INTO written VALUES (abs($1::int), 'x')": true,
		"INSERT INTO written VALUES ($1, 'x')":           false,
	} {
		r.forget()
		prepared, err := conn.Prepare(t.Context(), sql, sql)
		require.NoError(t, err)
		require.Equal(t, planned, r.done(sql).duckdb > 0, "what counts, counts: %s", sql)
		r.forget()
		for range 3 {
			require.NoError(t, conn.PgConn().ExecPrepared(t.Context(), prepared.Name, [][]byte{[]byte("7")}, nil, nil).Read().Err)
		}
		require.Equal(t, counts{}, r.done(sql), "%q %q", r.parsed, r.duckdb)
	}
}

// connect is a client of the server in a directory.
func connect(t *testing.T, directory, dialect string) *pgx.Conn {
	options := fmt.Sprintf("host=%s user=postgres database=csmsql sslmode=disable options='-c csm.dialect=%s'", directory, dialect)
	conn, err := pgx.Connect(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	_, err = conn.Exec(t.Context(), "SET plan_cache_mode = force_custom_plan")
	require.NoError(t, err)
	return conn
}

// readings are queries, and what is done with their texts to prepare them: in order, passes of our lexer; texts that
// PostgreSQL's parser, its lexer, and DuckDB's parser are given. In the dialect postgres it may be something else.
var readings = []struct {
	sql            string
	tpch           int
	want, postgres counts
}{
	// Arrow's kernels run the first ones, which DuckDB never sees.
	{sql: "SELECT 1", want: counts{1, 1, 0, 0}},
	{sql: "SELECT count(*) FROM lineitem", want: counts{1, 1, 0, 0}},
	{sql: "SELECT l_orderkey FROM lineitem WHERE l_shipdate = '1998-01-01'", want: counts{1, 1, 0, 0}},
	{sql: "SELECT 'a' || 'b'", want: counts{1, 1, 0, 1}},
	{sql: "SELECT 7 / 2", want: counts{1, 1, 0, 0}, postgres: counts{1, 1, 0, 1}},
	{sql: "SELECT count(*) FROM lineitem WHERE l_comment ~ 'x'", want: counts{1, 1, 0, 1}},
	{sql: "SELECT l_orderkey FROM lineitem ORDER BY l_orderkey DESC LIMIT 1", want: counts{1, 1, 0, 1}},
	{tpch: 1, want: counts{1, 1, 0, 1}},
	{tpch: 3, want: counts{1, 1, 0, 1}},
	{sql: "SELECT l_quantity FROM lineitem WHERE l_orderkey = $1", want: counts{1, 1, 0, 0}},
	{sql: "SELECT $1::int + 1", want: counts{1, 1, 0, 0}},

	// Views: their queries were parsed when they were made, and what they stand in is not parsed again.
	{sql: "SELECT sum(l_quantity) FROM few WHERE l_orderkey > 5", want: counts{1, 1, 0, 1}},
	{sql: "SELECT a.k, 'x' FROM fewer a JOIN few b ON a.k = b.l_orderkey", want: counts{1, 1, 0, 1}},
	{sql: "WITH c AS (SELECT * FROM few) SELECT count(*) FROM c -- to the end", want: counts{1, 1, 0, 1}},
	{sql: "SELECT /* what */ $tag$a$tag$, upper(l_comment) FROM lineitem WHERE l_comment LIKE 'a%'", want: counts{1, 1, 0, 1}},
	// A string that DuckDB has in another spelling is written so, in the tree as in the text.
	{sql: `SELECT '\x00ff'::bytea, l_orderkey FROM lineitem LIMIT 1`, want: counts{1, 1, 0, 1}},
	// A cast whose digits PostgreSQL counts otherwise: the client's text, and that in which they are said.
	{sql: "SELECT count(*) FROM lineitem WHERE l_quantity > 5::numeric", want: counts{0, 2, 0, 1}},
	// A parameter that nothing gives a type to DuckDB: the client's text, and that with the type.
	{sql: "SELECT $1 + 1", want: counts{1, 2, 0, 0}},
	// One of which DuckDB has to be asked first: what DuckDB was given is parsed to see where it stands.
	{sql: "SELECT $1", want: counts{2, 2, 1, 2}},
	// Catalogs: what was written for DuckDB is parsed to see that it is what was meant.
	{sql: "SELECT relname FROM pg_class", want: counts{1, 2, 0, 1}},
	// What PostgreSQL's parser does not read, and the same with blanks for what it does not know.
	{sql: "SELECT a.* EXCLUDE (l_comment) FROM lineitem a LIMIT 1", want: counts{2, 2, 0, 1}},
}
