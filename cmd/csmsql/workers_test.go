package main_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// worker is one client of a soak: it asks a node by chance, one statement after the other.
type worker struct {
	*soak
	*rand.Rand
	split []string // values of csm.distribute
	more  []string // settings beside
	conns map[*member]*connection
}

// connection is kept from one statement to the next, through all trouble that it survives.
type connection struct {
	*pgx.Conn
	since int64 // the state of the cluster when it was made
}

// errOld is of connections that an earlier fault had broken, unnoticed until now.
var errOld = errors.New("the connection is of before")

func (s *soak) worker(number uint64) *worker {
	return &worker{soak: s, Rand: rand.New(rand.NewPCG(s.seed, number)), split: []string{"auto", "always", "always", "off"}, conns: map[*member]*connection{}}
}

func (w *worker) close() {
	for _, conn := range w.conns {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = conn.Close(ctx) // it may be broken
		cancel()
	}
}

// statementMax is how long a statement may take of its node's running time: what the longest chain of calls is allowed, of 10 s to
// other nodes and 5 s to etcd, and 5 s.
const statementMax = 20 * time.Second

// ask sends statements to a node and gives the last one's rows. answered: every one was, rightly or wrongly. After an error, and
// with a transaction left open that should not be, the connection is not used again.
func (w *worker) ask(m *member, open bool, statements ...string) (rows []string, answered bool, err error) {
	spent, stopped := m.stalls.stopwatch(), m.stoppedFor()
	ctx, cancel := context.WithTimeout(context.Background(), 3*statementMax)
	defer cancel()
	conn, err := w.conn(ctx, m)
	if err != nil {
		return nil, true, err // nothing was asked
	}
	for _, sql := range statements {
		if rows, err = texts(ctx, conn.Conn, sql); err != nil {
			break
		}
	}
	var pgError *pgconn.PgError
	answered = err == nil || errors.As(err, &pgError) && pgError.Severity != "FATAL"
	if !answered && conn.since != w.trouble() {
		err = fmt.Errorf("%w: %w", errOld, err)
	}
	if !answered || conn.IsClosed() || conn.PgConn().TxStatus() != 'I' && (err != nil || !open) {
		_ = conn.Close(ctx)
		delete(w.conns, m)
	}
	took := spent() - (m.stoppedFor() - stopped)
	if w.slowest(took, fmt.Sprintf("%s at %s (%v)", statements[len(statements)-1], m.name, err)); took > statementMax {
		w.wrong(fmt.Errorf("%s took %v of %s's time (%w)", statements[len(statements)-1], took, m.name, err))
	}
	return rows, answered, err
}

func (w *worker) conn(ctx context.Context, m *member) (*connection, error) {
	if conn := w.conns[m]; conn != nil {
		return conn, nil
	}
	since := w.trouble()
	made, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	conn := &connection{made, since}
	if _, err := conn.Exec(ctx, strings.Join(append([]string{"SET csm.distribute = " + pick(w, w.split...)}, w.more...), ";")); err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	w.conns[m] = conn
	return conn, nil
}

func texts(ctx context.Context, conn *pgx.Conn, sql string) (rows []string, err error) {
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		for _, row := range r.Rows {
			cells := make([]string, len(row))
			for i, cell := range row {
				cells[i] = string(cell)
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
		if r.Err != nil {
			return nil, r.Err
		}
	}
	return rows, nil
}

func pick[T any](w *worker, from ...T) T { return from[w.IntN(len(from))] }

// write changes a group until the soak is over. Only one worker does.
func (w *worker) write(g *group) {
	defer w.close()
	next := int64(1)
	doubtful := false // the last change may or may not have happened
	for !w.over() {
		worlds := g.worlds()
		if doubtful && len(worlds) > 8 { // every further doubt would double them
			w.awaitCalm()
		}
		statements, change := w.change(g, worlds, next, doubtful)
		next++
		switch w.transact(g, statements, change) {
		case happened:
			doubtful = false
		case inDoubt:
			doubtful = true
		case refused:
			w.pause()
		}
	}
}

// change is one by chance. After a doubt it is one that conflicts with whatever the doubt is about: it touches every table.
func (w *worker) change(g *group, worlds []world, number int64, doubtful bool) (statements []string, change func(world) world) {
	first, second := g.tables[0], g.tables[1]
	if w.IntN(2) == 0 {
		first, second = second, first
	}
	rows := 1 + w.Int64N(3000)
	has := func(name string) bool {
		return !slices.ContainsFunc(worlds, func(c world) bool { return c[name] == nil })
	}
	full := func(name string) bool {
		return slices.ContainsFunc(worlds, func(c world) bool { return len(c[name]) > 6 || c[name].rows() > 150_000 })
	}
	batches := slices.Sorted(maps.Keys(worlds[0][first]))
	insert := func(name string) {
		statements = append(statements, fmt.Sprintf("INSERT INTO %s %s", name, rowsSQL(number, rows)))
		before := change
		change = func(c world) world {
			if before != nil {
				c = before(c)
			}
			return c.with(name, c[name].with(number, batch{rows: rows}))
		}
	}
	replace := func(name string) {
		statements = append(statements, fmt.Sprintf("CREATE OR REPLACE TABLE %s WITH (placement = '%s', replicas = %d) AS %s", name, w.placement(), 1+w.IntN(2), rowsSQL(number, rows)))
		before := change
		change = func(c world) world {
			if before != nil {
				c = before(c)
			}
			return c.with(name, table{number: {rows: rows}})
		}
	}
	put := func(name string) {
		if has(name) && !full(name) {
			insert(name)
		} else {
			replace(name)
		}
	}
	switch n := w.IntN(20); {
	case doubtful || n < 4:
		put(first)
		put(second)
	case !has(first) || full(first) || n == 4:
		if w.IntN(6) == 0 {
			rows = 120_000
		}
		replace(first)
	case n < 7 && len(batches) > 1:
		gone := pick(w, batches...)
		statements = []string{fmt.Sprintf("DELETE FROM %s WHERE b = %d", first, gone)}
		change = func(c world) world { return c.with(first, c[first].without(gone)) }
	case n < 9 && len(batches) > 0:
		touched := pick(w, batches...)
		statements = []string{fmt.Sprintf("UPDATE %s SET v = v + 7 WHERE b = %d", first, touched)}
		change = func(c world) world {
			b, ok := c[first][touched]
			if !ok {
				return c
			}
			b.updates++
			return c.with(first, c[first].with(touched, b))
		}
	case n == 9:
		statements = []string{"DROP TABLE " + first}
		change = func(c world) world { return c.with(first, nil) }
	case n < 12:
		statements = []string{fmt.Sprintf("ALTER TABLE %s SET PLACEMENT '%s'", first, w.placement())}
	default:
		insert(first)
	}
	return statements, change
}

// placement is a table's by chance.
func (w *worker) placement() string {
	return pick(w, "local", "rows", "rows", "hash(i)", "hash(i)", "hash(b)", "node(n0)", "node(n1)", "node(n2)", "rows(n1, n2)", "hash(i) on (n2, n0)")
}

// What became of a change.
const (
	happened = iota
	refused
	inDoubt
)

// transact runs a change at a node and reports it to the model; nil changes no row.
func (w *worker) transact(g *group, statements []string, change func(world) world) int {
	return w.transactAt(pick(w, w.members.nodes...), g, statements, change)
}

func (w *worker) transactAt(m *member, g *group, statements []string, change func(world) world) int {
	since := w.trouble()
	if len(statements) > 1 {
		if _, _, err := w.ask(m, true, append([]string{"BEGIN"}, statements...)...); err != nil {
			w.failed(m, since, statements[0], err)
			return refused
		}
		statements = []string{"COMMIT"}
	}
	if change == nil {
		if _, _, err := w.ask(m, false, statements[0]); err != nil {
			w.failed(m, since, statements[0], err)
			return refused
		}
		return happened
	}
	return w.commit(m, g, statements[0], change, func() (bool, error) {
		_, answered, err := w.ask(m, false, statements[0])
		return answered, err
	})
}

// commit runs the change of a group, and reports its outcome to the model.
func (w *worker) commit(m *member, g *group, what string, change func(world) world, do func() (answered bool, err error)) int {
	since := w.trouble()
	operation := g.begin(change)
	answered, err := do()
	var sqlError interface{ SQLState() string }
	switch {
	case err == nil:
		w.wrong(g.committed(operation))
		return happened
	case !answered, errors.As(err, &sqlError) && sqlError.SQLState() == "08007":
		w.failed(m, since, what, err)
		return inDoubt
	}
	w.failed(m, since, what, err)
	w.wrong(g.failed(operation))
	return refused
}

// read asks a group's tables until the soak is over.
func (w *worker) read() {
	defer w.close()
	for !w.over() {
		g := pick(w, w.groups...)
		if !w.question(g, pick(w, w.members.nodes...), pick(w, questions...)) {
			w.pause()
		}
	}
}

// question asks one and checks the answer.
func (w *worker) question(g *group, m *member, q question) bool {
	a, b := g.tables[0], g.tables[1]
	if w.IntN(2) == 0 && !q.tellsApart {
		a, b = b, a
	}
	return w.questionOf(g, m, q, a, b)
}

// tellApart asks what only one world answers, of both tables and of each: one of them may be missing.
func (w *worker) tellApart(g *group, m *member) (answered bool) {
	answered = w.question(g, m, everything)
	for _, name := range g.tables {
		answered = w.questionOf(g, m, everythingOf, name, "") && answered
	}
	return answered
}

func (w *worker) questionOf(g *group, m *member, q question, a, b string) bool {
	since, moment := w.trouble(), g.moment()
	rows, _, err := w.ask(m, false, strings.NewReplacer("A!", a, "B!", b).Replace(q.sql))
	answer := strings.Join(rows, "\n")
	var pgError *pgconn.PgError
	switch {
	case errors.As(err, &pgError) && pgError.Code == "42P01":
		answer = missing
	case err != nil:
		w.failed(m, since, q.sql, err)
		return false
	}
	of := func(c world) string {
		if c[a] == nil || c[b] == nil && strings.Contains(q.sql, "B!") {
			return missing
		}
		return strings.Join(q.of(c[a], c[b], a, b), "\n")
	}
	// That a table is missing says nothing of the other one.
	if err := g.check(moment, answer, of, q.tellsApart && (answer != missing || !strings.Contains(q.sql, "B!"))); err != nil {
		w.wrong(fmt.Errorf("%s at %s, asked of %s and %s: %w", q.sql, m.name, a, b, err))
	}
	w.answers.Add(1)
	return true
}

const missing = "no such table"

// question is what can be asked of two tables, and how the answer follows from what they hold.
type question struct {
	sql        string
	of         func(a, b table, nameA, nameB string) []string
	tellsApart bool // different worlds have different answers
}

const perBatch = "SELECT 'A!' AS t, b, count(*) AS n, sum(v)::BIGINT AS s, min(s) AS m, count(DISTINCT i) AS d FROM A! GROUP BY b"

var questions = []question{
	everything, everything,
	{sql: "SELECT count(*), coalesce(sum(v), 0)::BIGINT FROM A!", of: func(a, _ table, _, _ string) []string {
		var sum int64
		for number, b := range a {
			for i := range b.rows {
				sum += b.value(number, i)
			}
		}
		return []string{fmt.Sprintf("%d|%d", a.rows(), sum)}
	}},
	{sql: "SELECT s, count(*) AS n, max(v) AS m FROM A! GROUP BY s ORDER BY s", of: func(a, _ table, _, _ string) []string {
		count, most := map[string]int64{}, map[string]int64{}
		for number, b := range a {
			for i := range b.rows {
				count[label(i)]++
				most[label(i)] = max(most[label(i)], b.value(number, i))
			}
		}
		var rows []string
		for _, s := range slices.Sorted(maps.Keys(count)) {
			rows = append(rows, fmt.Sprintf("%s|%d|%d", s, count[s], most[s]))
		}
		return rows
	}},
	{sql: "SELECT count(*), coalesce(sum(x.v - y.v), 0)::BIGINT FROM A! AS x JOIN B! AS y ON x.i = y.i AND x.b <> y.b", of: func(a, b table, _, _ string) []string {
		var count, sum int64
		for numberA, x := range a {
			for numberB, y := range b {
				if numberA == numberB {
					continue
				}
				for i := range min(x.rows, y.rows) {
					count++
					sum += x.value(numberA, i) - y.value(numberB, i)
				}
			}
		}
		return []string{fmt.Sprintf("%d|%d", count, sum)}
	}},
	{sql: "SELECT v FROM A! ORDER BY v DESC LIMIT 5", of: func(a, _ table, _, _ string) []string {
		var all []int64
		for number, b := range a {
			for i := max(0, b.rows-5); i < b.rows; i++ {
				all = append(all, b.value(number, i))
			}
		}
		slices.Sort(all)
		slices.Reverse(all)
		var rows []string
		for _, v := range all[:min(5, len(all))] {
			rows = append(rows, fmt.Sprint(v))
		}
		return rows
	}},
}

// everything distinguishes any two worlds of both tables.
var everything = question{
	sql:        perBatch + " UNION ALL " + strings.ReplaceAll(perBatch, "A!", "B!") + " ORDER BY 1, 2",
	tellsApart: true,
	of: func(a, b table, nameA, nameB string) []string {
		return append(perBatchOf(a, nameA), perBatchOf(b, nameB)...)
	},
}

// everythingOf distinguishes worlds that differ in one table, also when it or the other one is missing.
var everythingOf = question{
	sql:        perBatch + " ORDER BY 1, 2",
	tellsApart: true,
	of:         func(a, _ table, nameA, _ string) []string { return perBatchOf(a, nameA) },
}

func perBatchOf(t table, name string) (rows []string) {
	for _, number := range slices.Sorted(maps.Keys(t)) {
		b := t[number]
		var sum int64
		least := label(0)
		for i := range b.rows {
			sum += b.value(number, i)
			least = min(least, label(i))
		}
		rows = append(rows, fmt.Sprintf("%s|%d|%d|%d|%s|%d", name, number, b.rows, sum, least, b.rows))
	}
	return rows
}

// clients runs workers until the soak is over.
func (s *soak) clients(readers int) (join func()) {
	var all sync.WaitGroup
	for i, g := range s.groups {
		w := s.worker(uint64(100 + i))
		all.Go(func() { w.write(g) })
	}
	for i := range readers {
		w := s.worker(uint64(200 + i))
		all.Go(w.read)
	}
	return all.Wait
}
