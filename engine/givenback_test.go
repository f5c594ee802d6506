package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// holding is a node, and clients that keep versions of its tables in all ways that there are: by results and cursors
// that are open, blocks, prepared statements, and the tables' own retention. The log of its
// steps is printed with a failure.
type holding struct {
	t      *testing.T
	e      *engine.Engine
	random *rand.Rand
	list   []*holder
	log    []string
	least  int64 // that clients are charged for in any case
	seen   map[weak.Pointer[catalog.TableVersion]]string
}

// holder is one client.
type holder struct {
	session  *engine.Session
	results  []array.RecordReader
	prepared []*engine.Statement
	cursors  int
}

// What tables took is given back to the byte when they are dropped and no version of them is held any more, in any
// order: dropped first, closed first, or taken back.
func TestDroppedTablesAreGivenBack(t *testing.T) {
	for range 4 * testsuite.Effort() {
		h := &holding{t: t, e: open(t), seen: map[weak.Pointer[catalog.TableVersion]]string{}}
		seed := rand.Uint64()
		h.random = rand.New(rand.NewPCG(seed, 1))
		h.tell("seed %d", seed)
		for range 3 {
			h.list = append(h.list, &holder{session: h.open()})
		}
		h.least = h.e.Memory().Used
		for range 3 {
			for range 60 {
				h.step()
				h.see()
			}
			h.close()
			h.check()
		}
		h.drop()
		h.check()
		h.forgotten()
		require.Zero(t, h.e.RegionStats().Used, "%s", h)
		require.NoError(t, h.e.Close())
	}
}

func (h *holding) String() string { return strings.Join(h.log, "\n") }

func (h *holding) tell(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *holding) open() *engine.Session {
	// No other session ends what holds a row.
	s, err := h.e.Session(engine.SessionOptions{Settings: map[string]string{"lock_timeout": "1"}})
	require.NoError(h.t, err)
	return s
}

// tables is how many there are at most: few, so that most steps meet another one's.
const tables = 2

// table is the name of one of them.
func (h *holding) table() string { return fmt.Sprintf("t%d", h.random.IntN(tables)) }

// step is what one client does next, which may be wrong.
func (h *holding) step() {
	i := h.random.IntN(len(h.list))
	x, t := h.list[i], h.table()
	from := h.random.IntN(3000)
	const many = "SELECT i AS k, repeat('x', 20) || i AS v FROM range(%d, %d) r(i)"
	rows := fmt.Sprintf(many, from, from+1+h.random.IntN(4000))
	statements := []string{
		"CREATE TABLE " + t + " AS " + rows,
		"CREATE TABLE IF NOT EXISTS " + t + " (k bigint PRIMARY KEY, v text) WITH (retention = '1 day', retained_versions = 3)",
		"CREATE TABLE IF NOT EXISTS " + t + " (k bigint, v text)",
		"CREATE OR REPLACE TABLE " + t + " AS " + rows,
		"INSERT INTO " + t + " " + rows,
		"INSERT INTO " + t + " " + rows, fmt.Sprintf("INSERT INTO %s VALUES (%d, 'one')", t, from),
		fmt.Sprintf("DELETE FROM %s WHERE k %% 3 = %d", t, from%3), fmt.Sprintf("UPDATE %s SET v = v || 'y' WHERE k < %d", t, from),
		"TRUNCATE " + t, "DROP TABLE IF EXISTS " + t, "DROP TABLE IF EXISTS " + t, "VACUUM " + t,
		"ALTER TABLE " + t + " SET (retention = '1 day', retained_versions = 5)",
		"ALTER TABLE " + t + " RESET (retention, retained_versions)",
		"CREATE INDEX IF NOT EXISTS " + t + "_v ON " + t + " (v)",
		"ALTER TABLE " + t + " ADD COLUMN IF NOT EXISTS w text DEFAULT 'w'",
		"ALTER TABLE " + t + " RENAME TO " + h.table(), "BEGIN",
		"BEGIN ISOLATION LEVEL REPEATABLE READ", "COMMIT", "ROLLBACK",
		"SAVEPOINT a", "ROLLBACK TO a", "RELEASE a", "FETCH 10 FROM c1", "CLOSE ALL", "SELECT * FROM nowhere",
		fmt.Sprintf("SELECT * FROM %s WHERE k = %d FOR UPDATE", t, from), "DISCARD ALL",
		"CREATE TEMP TABLE " + t + "_own AS SELECT * FROM " + t,
		"DROP TABLE IF EXISTS " + t + "_own", "PREPARE p AS SELECT * FROM " + t, "EXECUTE p", "DEALLOCATE ALL",
		"DECLARE held CURSOR WITH HOLD FOR SELECT * FROM " + t, "FETCH 5 FROM held", "CLOSE held",
		"ALTER TABLE " + t + " ALTER COLUMN v TYPE varchar(100)", "ALTER TABLE " + t + " ADD UNIQUE (k)",
		"CREATE OR REPLACE VIEW seen AS SELECT k FROM " + t, "DROP VIEW IF EXISTS seen",
		"DROP TABLE IF EXISTS " + t + " CASCADE",
	}
	queries := []string{
		"SELECT * FROM " + t, "SELECT v FROM " + t + " WHERE k > 10",
		"SELECT * FROM " + t + " a JOIN " + h.table() + " b USING (k)",
		"SELECT * FROM " + t + " AT (VERSION => 2)", "SELECT count(*) FROM " + t,
		"DELETE FROM " + t + " WHERE k % 2 = 0 RETURNING *",
		"INSERT INTO " + t + " (k) " + fmt.Sprintf("VALUES (%d)", from) + " RETURNING k",
		"SELECT * FROM " + t + " ORDER BY v",
	}
	query := queries[h.random.IntN(len(queries))]
	switch what := h.random.IntN(10); {
	case what < 5:
		h.run(i, statements[h.random.IntN(len(statements))])
	case what == 5:
		x.cursors++
		h.run(i, fmt.Sprintf("DECLARE c%d CURSOR FOR %s", x.cursors, query))
		h.run(i, fmt.Sprintf("FETCH 3 FROM c%d", x.cursors))
	case what == 6:
		st, err := x.session.Prepare(context.Background(), query)
		if h.tell("%d: prepare %s: %v", i, query, err); err == nil {
			x.prepared = append(x.prepared, st)
		}
	case what == 7 && len(x.prepared) > 0:
		r, err := x.prepared[h.random.IntN(len(x.prepared))].Query(context.Background())
		h.tell("%d: run one of those: %v", i, err)
		h.hold(x, r, err)
	case what == 8:
		h.letGo(i)
	default:
		r, err := x.session.Query(context.Background(), query)
		h.tell("%d: ask %s: %v", i, query, err)
		h.hold(x, r, err)
	}
	if h.random.IntN(2) == 0 {
		h.tell("%d: is silent", i)
		x.session.Rest()
	}
}

func (h *holding) run(i int, sql string) {
	_, err := h.list[i].session.Exec(context.Background(), sql)
	h.tell("%d: %s: %v", i, sql, err)
}

// hold keeps a result, of which some is read.
func (h *holding) hold(x *holder, r array.RecordReader, err error) {
	if err != nil {
		return
	}
	if h.random.IntN(2) == 0 {
		r.Next()
	}
	x.results = append(x.results, r)
}

// letGo has a client let go of something.
func (h *holding) letGo(i int) {
	x := h.list[i]
	switch what := h.random.IntN(4); {
	case what == 0 && len(x.prepared) > 0:
		n := h.random.IntN(len(x.prepared))
		h.tell("%d: close a prepared statement: %v", i, x.prepared[n].Close())
		x.prepared = append(x.prepared[:n], x.prepared[n+1:]...)
	case what == 1:
		h.tell("%d: leaves: %v", i, x.session.Close())
		for _, r := range x.results {
			r.Release()
		}
		h.list[i] = &holder{session: h.open()}
	case len(x.results) > 0:
		n := h.random.IntN(len(x.results))
		h.tell("%d: close a result", i)
		x.results[n].Release()
		x.results = append(x.results[:n], x.results[n+1:]...)
	}
}

// close has all clients let go of everything, in some order.
func (h *holding) close() {
	for _, i := range h.random.Perm(len(h.list)) {
		x := h.list[i]
		ways := []func(){
			func() {
				for _, r := range x.results {
					r.Release()
				}
			},
			func() {
				for _, st := range x.prepared {
					h.tell("%d: close: %v", i, st.Close())
				}
			},
			func() { h.run(i, "ROLLBACK") },
		}
		for _, k := range h.random.Perm(len(ways)) {
			ways[k]()
		}
		x.results, x.prepared = nil, nil
		h.run(i, "DISCARD ALL")
	}
}

func (h *holding) drop() {
	for i := range tables {
		h.run(0, fmt.Sprintf("DROP TABLE IF EXISTS t%d CASCADE", i))
	}
	exec(h.t, h.list[0].session, "VACUUM") // gives up kept versions at once, which a node does once a second
}

// check is that nothing is held for nothing.
func (h *holding) check() {
	require.NoError(h.t, h.e.CheckSpace(context.Background()), "%s", h)
	exec(h.t, h.list[0].session, "DISCARD ALL") // the plan of VACUUM
	require.Equal(h.t, h.least, h.e.Memory().Used, "%s", h)
}

// see remembers which versions there are.
func (h *holding) see() {
	for _, v := range h.e.Contents().Tables() {
		h.seen[weak.Make(v)] = fmt.Sprint(v.Table().Name, " ", v.Version(), ", after ", h.log[len(h.log)-1])
	}
}

// forgotten is that nothing has a version any more, once the clients have left and the next one has asked something.
func (h *holding) forgotten() {
	for _, x := range h.list {
		require.NoError(h.t, x.session.Close())
	}
	h.list = []*holder{{session: h.open()}}
	for _, sql := range []string{"CREATE TABLE other (i int)", "SELECT * FROM other", "DROP TABLE other", "SELECT * FROM range(3)"} {
		rows(h.t, h.list[0].session, sql)
	}
	var left []string
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
		runtime.GC()
		left = nil
		for v, what := range h.seen {
			if v.Value() != nil {
				left = append(left, what)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	require.Empty(h.t, left, "%s", h)
}
