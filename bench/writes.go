package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/counted"
)

const (
	// writesWindow is how long the clients of one run insert, writesFew in tests.
	writesWindow = time.Second
	writesFew    = 50 * time.Millisecond
	// writesChecked is how many rows are inserted and compared before anything is timed.
	writesChecked = 400
)

// writeGoals says how many clients insert at once, and how many times PostgreSQL's rate is the goal on each fabric.
var writeGoals = []struct {
	clients   int
	file, shm float64
}{{1, 1, 2}, {8, 1, 2}, {64, 1.5, 2}}

const (
	writesTable  = "CREATE TABLE readings (id bigint NOT NULL, sensor text NOT NULL, value double precision)"
	writesInsert = "INSERT INTO readings VALUES ($1, $2, $3)"
)

// writes measures one-row INSERTs into one table, each a transaction of its own that is durable when it is acknowledged
// (shm: as durable as that memory), by 1, 8 and 64 clients with prepared statements, against PostgreSQL with its
// defaults.
//
//	                ┌─ unix socket ─► csmsql serve --fabric file
//	N connections ──┼─ unix socket ─► csmsql serve --fabric shm
//	                └─ unix socket ─► PostgreSQL (fsync and synchronous_commit are on: it is asked)
//
// After every run the table must have the rows that were acknowledged, each once.
func writes(ctx context.Context, o Options) (_ *Report, err error) {
	sides, err := startWriters(ctx, o)
	defer func() {
		for _, s := range sides {
			err = errors.Join(err, s.close())
		}
	}()
	if err != nil {
		return nil, err
	}
	postgres := sides[len(sides)-1]
	if err := keepsPromise(ctx, postgres); err != nil {
		return nil, err
	}
	for _, s := range sides {
		o.say("%s: checking answers", s.name)
		if err := checkWriter(ctx, o, s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	r := &Report{
		Name: "writes", Columns: []string{"clients", "csmsql file", "csmsql shm", "postgresql", "file ratio", "shm ratio"},
		Samples: map[string][]time.Duration{},
		Setting: fmt.Sprintf("one-row INSERTs a second, autocommit, prepared, into one table, over unix sockets, against %s"+
			" with its defaults (fsync and synchronous_commit on), medians of %d interleaved runs of %v, each into an empty table;"+
			" data on %s; csmsql may use %d threads, PostgreSQL has a process per connection",
			postgres.version, o.Runs, o.window(), fileSystemOf(sides[0].directories[0]), o.Threads),
	}
	refused := 0
	for _, goal := range writeGoals {
		rates, conflicts, err := measureWriters(ctx, o, sides, goal.clients, r)
		if err != nil {
			return nil, err
		}
		refused += conflicts
		file, shm := rates[0]/rates[2], rates[1]/rates[2]
		r.Rows = append(r.Rows, []any{goal.clients, rates[0], rates[1], rates[2], file, shm})
		clients := counted.Of(goal.clients, "client")
		r.Goals = append(r.Goals, atLeast("file, "+clients+": csmsql / PostgreSQL", file, goal.file),
			atLeast("shm, "+clients+": csmsql / PostgreSQL", shm, goal.shm))
	}
	r.Goals = append(r.Goals, atMost("serialization failures", float64(refused), 0))
	r.Machine = thisMachine() // with the load at the end
	return r, nil
}

func (o Options) window() time.Duration {
	if o.few {
		return writesFew
	}
	return writesWindow
}

// startWriters starts the sides, PostgreSQL last. Those that were started are given on an error, too.
func startWriters(ctx context.Context, o Options) (sides []*server, err error) {
	for _, fabric := range []string{"file", "shm"} {
		o.say("starting csmsql on %s", fabric)
		s, err := startCsmsql(ctx, o, "--fabric", fabric)
		if err != nil {
			return sides, err
		}
		s.name += " " + fabric
		sides = append(sides, s)
	}
	o.say("starting PostgreSQL")
	postgres, err := startPostgres(ctx, o.PostgresBin)
	if err != nil {
		return sides, err
	}
	sides = append(sides, postgres)
	for _, s := range sides {
		if err := s.exec(ctx, writesTable); err != nil {
			return sides, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return sides, nil
}

// keepsPromise asks PostgreSQL whether what it acknowledges is durable: it is compared with what is.
func keepsPromise(ctx context.Context, postgres *server) error {
	conn, err := pgx.Connect(ctx, postgres.conninfo)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, setting := range []string{"fsync", "synchronous_commit"} {
		var value string
		if err := conn.QueryRow(ctx, "SHOW "+setting).Scan(&value); err != nil {
			return fmt.Errorf("PostgreSQL: %w", err)
		}
		if value != "on" {
			return fmt.Errorf("PostgreSQL has %s = %s; by its default it is on", setting, value)
		}
	}
	return nil
}

// checkWriter inserts a known set of rows by several clients and compares all of them.
func checkWriter(ctx context.Context, o Options, s *server) error {
	w := &writers{side: s, most: writesChecked}
	if err := w.run(ctx, 8); err != nil {
		return err
	}
	if o.sabotage && strings.HasPrefix(s.name, "csmsql") {
		if err := s.exec(ctx, "UPDATE readings SET value = value + 1 WHERE id = 7"); err != nil {
			return err
		}
	}
	return w.check(ctx)
}

// measureWriters lets clients insert on every side in turn, and gives the median rates and how many transactions were
// refused as conflicts.
func measureWriters(ctx context.Context, o Options, sides []*server, clients int,
	r *Report) (rates []float64, conflicts int, err error) {
	all := make([][]float64, len(sides))
	for run := range o.Runs {
		o.say("%s, run %d of %d", counted.Of(clients, "client"), run+1, o.Runs)
		for k := range sides {
			i := (k + run) % len(sides) // which side goes first changes
			w := &writers{side: sides[i], window: o.window()}
			if err := errors.Join(w.run(ctx, clients), w.check(ctx)); err != nil {
				return nil, 0, fmt.Errorf("%s: %w", sides[i].name, err)
			}
			if w.rows == 0 {
				return nil, 0, fmt.Errorf("%s: %d clients inserted nothing within %v", sides[i].name, clients, w.window)
			}
			all[i] = append(all[i], float64(w.rows)/w.took.Seconds())
			sample := fmt.Sprintf("%s, %s, per row", counted.Of(clients, "client"), sides[i].name)
			r.Samples[sample] = append(r.Samples[sample], w.took/time.Duration(w.rows))
			conflicts += w.conflicts
		}
	}
	for _, rs := range all {
		slices.Sort(rs)
		rates = append(rates, rs[len(rs)/2])
	}
	return rates, conflicts, nil
}

// writers are clients that insert rows into the emptied table of one side: for a time, or a number of rows.
type writers struct {
	side   *server
	window time.Duration
	most   int64 // rows in all; 0: as many as there is time for

	mu        sync.Mutex
	next      int64   // guarded by mu; the id that the next row gets
	rows      int64   // guarded by mu; acknowledged
	ids       int64   // guarded by mu; their sum
	values    float64 // guarded by mu; of value, too: whole numbers, exact
	conflicts int     // guarded by mu
	took      time.Duration
}

// run returns when all clients have ended.
func (w *writers) run(ctx context.Context, clients int) error {
	if err := w.side.exec(ctx, "TRUNCATE readings"); err != nil {
		return err
	}
	conns := make([]*pgx.Conn, clients)
	defer func() {
		for _, c := range conns {
			if c != nil {
				_ = c.Close(context.WithoutCancel(ctx))
			}
		}
	}()
	for i := range conns {
		var err error
		if conns[i], err = pgx.Connect(ctx, w.side.conninfo); err != nil {
			return err
		}
		if _, err := conns[i].Prepare(ctx, "insert", writesInsert); err != nil {
			return err
		}
	}
	begin := time.Now()
	failed := make(chan error, clients)
	for _, conn := range conns {
		go func() { failed <- w.insert(ctx, conn, begin) }()
	}
	var err error
	for range conns {
		err = errors.Join(err, <-failed)
	}
	w.took = time.Since(begin)
	return err
}

// insert is one client.
func (w *writers) insert(ctx context.Context, conn *pgx.Conn, begin time.Time) error {
	for {
		id, ok := w.draw(begin)
		if !ok {
			return nil
		}
		value := float64(id % 1000)
		_, err := conn.Exec(ctx, "insert", id, fmt.Sprintf("sensor %d", id%100), value)
		var refused *pgconn.PgError
		switch {
		case err == nil:
			w.acknowledge(id, value)
		case errors.As(err, &refused) && refused.Code == "40001":
			w.conflict()
		default:
			return err
		}
	}
}

func (w *writers) draw(begin time.Time) (id int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.most > 0 && w.next >= w.most || w.most == 0 && time.Since(begin) >= w.window {
		return 0, false
	}
	w.next++
	return w.next, true
}

func (w *writers) acknowledge(id int64, value float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows, w.ids, w.values = w.rows+1, w.ids+id, w.values+value
}

func (w *writers) conflict() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conflicts++
}

// check compares the table with what was acknowledged.
func (w *writers) check(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, w.side.conninfo)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var rows, distinct, ids int64
	var values float64
	const question = "SELECT count(*), count(DISTINCT id), coalesce(sum(id), 0)::bigint, coalesce(sum(value), 0)" +
		" FROM readings WHERE sensor = 'sensor ' || (id % 100)"
	if err := conn.QueryRow(ctx, question).Scan(&rows, &distinct, &ids, &values); err != nil {
		return err
	}
	if rows != w.rows || distinct != w.rows || ids != w.ids || values != w.values {
		return fmt.Errorf("a wrong answer: %d rows with %d different ids, sums %d and %g; acknowledged: %d rows, sums %d and %g",
			rows, distinct, ids, values, w.rows, w.ids, w.values)
	}
	return nil
}

// fileSystemOf names what kind of file system a directory lies on: in memory nothing is durable.
func fileSystemOf(directory string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(directory, &s); err != nil {
		return "an unknown file system"
	}
	switch s.Type {
	case unix.TMPFS_MAGIC:
		return "tmpfs, where syncing costs nothing and keeps nothing: set TMPDIR to a disk's"
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs"
	}
	return fmt.Sprintf("a file system of type %#x", s.Type)
}
