package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/bench/serving"
	"github.com/csmsql/csmsql/bench/writing"
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

// writesNodes says how many clients insert into a table of a cluster, whose nodes they take in turn, and which rate is
// the goal.
var writesNodes = struct {
	nodes, clients int
	rate           float64
}{3, 8, 1000}

// writes measures one-row INSERTs into one table, each a transaction of its own that is durable when it is acknowledged
// (shm: as durable as that memory), by 1, 8 and 64 clients with prepared statements, against PostgreSQL with its
// defaults.
//
//	                ┌─ unix socket ─► csmsql serve --fabric file
//	N connections ──┼─ unix socket ─► csmsql serve --fabric shm
//	                ├─ unix socket ─► PostgreSQL (fsync and synchronous_commit are on: it is asked)
//	8 connections ──┴─ unix sockets ─► three nodes of a cluster, whose etcd syncs three times on this disk
//
// After every run the table must have the rows that were acknowledged, each once.
func writes(ctx context.Context, o Options) (_ *Report, err error) {
	sides, err := startWriters(ctx, o)
	defer func() {
		for _, s := range sides {
			err = errors.Join(err, s.Close())
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
		o.say("%s: checking answers", s.Name)
		if err := checkWriter(ctx, o, s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	r := &Report{
		Name: "writes", Columns: []string{"clients", "csmsql file", "csmsql shm", "postgresql", "file ratio", "shm ratio"},
		Samples: map[string][]time.Duration{},
		Setting: fmt.Sprintf("one-row INSERTs a second, autocommit, prepared, into one table, over unix sockets, against %s"+
			" with its defaults (fsync and synchronous_commit on), medians of %d interleaved runs of %v, each into an empty table;"+
			" data on %s; csmsql may use %d threads, PostgreSQL has a process per connection",
			postgres.Version, o.Runs, o.window(), fileSystemOf(sides[0].Directories[0]), o.Threads),
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
	rate, conflicts, err := measureCluster(ctx, o, r)
	if err != nil {
		return nil, err
	}
	refused += conflicts
	over := fmt.Sprintf("%s over %s", counted.Of(writesNodes.clients, "client"), counted.Of(writesNodes.nodes, "node"))
	r.Goals = append(r.Goals, atLeast(over+": rows a second", rate, writesNodes.rate))
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

// measureCluster is measureWriters of a cluster, after all else: its nodes would take processor time from the others.
func measureCluster(ctx context.Context, o Options, r *Report) (rate float64, conflicts int, err error) {
	o.say("starting csmsql in %s", counted.Of(writesNodes.nodes, "node"))
	nodes, err := o.product().StartNodes(ctx, writesNodes.nodes)
	defer func() {
		for _, s := range slices.Backward(nodes) {
			err = errors.Join(err, s.Close())
		}
	}()
	if err != nil {
		return 0, 0, err
	}
	first := nodes[0]
	for _, s := range nodes[1:] {
		first.Others = append(first.Others, s.Conninfo)
	}
	if err := first.Exec(ctx, writing.Table); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", first.Name, err)
	}
	if err := checkWriter(ctx, o, first); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", first.Name, err)
	}
	rates, conflicts, err := measureWriters(ctx, o, []*serving.Server{first}, writesNodes.clients, r)
	if err != nil {
		return 0, 0, err
	}
	return rates[0], conflicts, nil
}

// startWriters starts the sides, PostgreSQL last. Those that were started are given on an error, too.
func startWriters(ctx context.Context, o Options) (sides []*serving.Server, err error) {
	for _, fabric := range []string{"file", "shm"} {
		o.say("starting csmsql on %s", fabric)
		s, err := o.product().Start(ctx, "--fabric", fabric)
		if err != nil {
			return sides, err
		}
		s.Name += " " + fabric
		sides = append(sides, s)
	}
	o.say("starting PostgreSQL")
	postgres, err := serving.StartPostgres(ctx, o.PostgresBin)
	if err != nil {
		return sides, err
	}
	sides = append(sides, postgres)
	for _, s := range sides {
		if err := s.Exec(ctx, writing.Table); err != nil {
			return sides, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return sides, nil
}

// keepsPromise asks PostgreSQL whether what it acknowledges is durable: it is compared with what is.
func keepsPromise(ctx context.Context, postgres *serving.Server) error {
	conn, err := pgx.Connect(ctx, postgres.Conninfo)
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
func checkWriter(ctx context.Context, o Options, s *serving.Server) error {
	w := &writing.Load{Servers: s.Servers(), Most: writesChecked}
	if err := w.Run(ctx, writesNodes.clients); err != nil {
		return err
	}
	if o.sabotage && strings.HasPrefix(s.Name, "csmsql") {
		if err := s.Exec(ctx, "UPDATE readings SET value = value + 1 WHERE id = 7"); err != nil {
			return err
		}
	}
	return w.Check(ctx)
}

// measureWriters lets clients insert on every side in turn, and gives the median rates and how many transactions were
// refused as conflicts.
func measureWriters(ctx context.Context, o Options, sides []*serving.Server, clients int,
	r *Report) (rates []float64, conflicts int, err error) {
	all := make([][]float64, len(sides))
	for run := range o.Runs {
		o.say("%s, run %d of %d", counted.Of(clients, "client"), run+1, o.Runs)
		for k := range sides {
			i := (k + run) % len(sides) // which side goes first changes
			w := &writing.Load{Servers: sides[i].Servers(), Window: o.window()}
			if err := errors.Join(w.Run(ctx, clients), w.Check(ctx)); err != nil {
				return nil, 0, fmt.Errorf("%s: %w", sides[i].Name, err)
			}
			if w.Rows() == 0 {
				return nil, 0, fmt.Errorf("%s: %d clients inserted nothing within %v", sides[i].Name, clients, w.Window)
			}
			all[i] = append(all[i], float64(w.Rows())/w.Took.Seconds())
			sample := fmt.Sprintf("%s, %s, per row", counted.Of(clients, "client"), sides[i].Name)
			r.Samples[sample] = append(r.Samples[sample], w.Took/time.Duration(w.Rows()))
			conflicts += w.Conflicts()
		}
	}
	for _, rs := range all {
		slices.Sort(rs)
		rates = append(rates, rs[len(rs)/2])
	}
	return rates, conflicts, nil
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
