package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/csmsql/csmsql/bench/mixed"
	"github.com/csmsql/csmsql/bench/serving"
)

// egressRows by 16 columns are the table of egress.
const egressRows = 1_000_000

// egress measures how fast rows come out over the PostgreSQL protocol, against PostgreSQL itself: the whole table by a
// simple query in text format, the shortest question there is, and one row by its key. Both serve the same rows (the
// same COPY data was sent to both, and a hash of every value as text, summed over all rows, must agree), over a unix
// socket, to the same client.
//
//	                ┌─ unix socket ─► csmsql serve     (a process of its own)
//	this process ───┤
//	                └─ unix socket ─► PostgreSQL       (its own cluster in a temporary directory; the table is vacuumed and in
//	                                                    its buffers; otherwise as it comes)
func egress(ctx context.Context, o Options) (_ *Report, err error) {
	o.say("starting PostgreSQL")
	// The buffers are four times as large as the table: a scan of more than a quarter of them goes through a small
	// ring.
	postgres, err := serving.StartPostgres(ctx, o.PostgresBin, "shared_buffers=1GB", "max_wal_size=4GB")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, postgres.Close()) }()
	o.say("starting csmsql")
	ours, err := o.product().Start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	sides := []*serving.Server{ours, postgres}
	rows := o.rows(egressRows)
	for _, s := range sides {
		o.say("%s: loading %d rows", s.Name, rows)
		if err := loadMixed(ctx, s, rows); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	if err := postgres.Exec(ctx, "VACUUM (ANALYZE, FREEZE) mixed"); err != nil {
		return nil, err
	}
	if o.sabotage {
		if err := ours.Exec(ctx, "UPDATE mixed SET name = 'changed' WHERE id = 7"); err != nil {
			return nil, err
		}
	}
	drained, times, err := measureDrain(ctx, o, sides, rows)
	if err != nil {
		return nil, err
	}
	for _, s := range sides {
		filled := fmt.Sprintf("INSERT INTO keyed SELECT i, i + 1 FROM generate_series(1, %d) AS g(i)", rows)
		for _, sql := range []string{"CREATE TABLE keyed (id bigint PRIMARY KEY, v bigint)", filled, "VACUUM keyed"} {
			if err := s.Exec(ctx, sql); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s.Name, sql, err)
			}
		}
	}
	asked, err := measureQuestions(ctx, o, sides, rows)
	if err != nil {
		return nil, err
	}
	return egressReport(o, postgres.Version, drained, times, asked), nil
}

// loadMixed makes the table of a side.
func loadMixed(ctx context.Context, s *serving.Server, rows int64) error {
	conn, err := pgx.Connect(ctx, s.Conninfo)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, mixed.Definition()); err != nil {
		return err
	}
	from, to := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = to.CloseWithError(mixed.Write(to, rows)) // the reader gets the error; closing never fails
	}()
	tag, err := conn.PgConn().CopyFrom(ctx, from, "COPY mixed FROM STDIN")
	from.Close() // lets the writer go if it is still there
	<-written
	if err != nil {
		return fmt.Errorf("COPY: %w", err)
	}
	if tag.RowsAffected() != rows {
		return fmt.Errorf("COPY took %d of %d rows", tag.RowsAffected(), rows)
	}
	return nil
}

const drainQuery = "SELECT * FROM mixed"

// measureDrain reads the whole table from both sides, first to compare what comes (B1), then for the time.
func measureDrain(ctx context.Context, o Options, sides []*serving.Server,
	rows int64) (first [2]drained, times [2][]time.Duration, err error) {
	var conns [2]*drain
	for i, s := range sides {
		if conns[i], err = newDrain(ctx, s.Conninfo); err != nil {
			return first, times, fmt.Errorf("%s: %w", s.Name, err)
		}
		defer conns[i].close()
		o.say("%s: checking answers", s.Name)
		if first[i], err = conns[i].query(ctx, drainQuery); err != nil {
			return first, times, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	if first[0].rows != rows || first[1].rows != rows || first[0].hash != first[1].hash {
		return first, times, fmt.Errorf("a wrong answer: %s sends %d rows with hash %016x, %s %d with hash %016x;"+
			" right are %d",
			sides[0].Name, first[0].rows, first[0].hash, sides[1].Name, first[1].rows, first[1].hash, rows)
	}
	for run := range o.Runs {
		o.say("all rows, run %d of %d", run+1, o.Runs)
		for k := range sides {
			i := (k + run) % 2 // which side goes first changes
			begin := time.Now()
			got, err := conns[i].query(ctx, drainQuery)
			times[i] = append(times[i], time.Since(begin))
			if err == nil && got != first[i] {
				err = fmt.Errorf("another answer than before: %d rows with hash %016x", got.rows, got.hash)
			}
			if err != nil {
				return first, times, fmt.Errorf("%s: %w", sides[i].Name, err)
			}
		}
	}
	return first, times, nil
}

// The shortest question is asked in blocks, so that both sides see the same weather.
const (
	questions     = 5_000
	questionBlock = 100
)

// asking is a question, and the protocol that it is asked in.
type asking struct {
	name  string
	keyed bool // a row by its key; otherwise SELECT 1
	mode  pgx.QueryExecMode
	times [2][]time.Duration
}

// measureQuestions asks each question over one connection; keys are from 1 to rows.
func measureQuestions(ctx context.Context, o Options, sides []*serving.Server, rows int64) ([]*asking, error) {
	protocols := []*asking{{name: "SELECT 1, simple", mode: pgx.QueryExecModeSimpleProtocol},
		{name: "SELECT 1, prepared", mode: pgx.QueryExecModeCacheStatement},
		{name: "a row by its key, prepared", keyed: true, mode: pgx.QueryExecModeCacheStatement}}
	var conns [2]*pgx.Conn
	for i, s := range sides {
		conn, err := pgx.Connect(ctx, s.Conninfo)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		defer conn.Close(context.WithoutCancel(ctx))
		conns[i] = conn
	}
	for _, p := range protocols {
		o.say("%s", p.name)
		for block := range questions/questionBlock + 1 { // the first block warms up
			for k := range conns {
				i := (k + block) % 2
				for n := range int64(questionBlock) {
					took, err := p.ask(ctx, conns[i], (n*7919+int64(block))%rows+1)
					if err != nil {
						return nil, fmt.Errorf("%s: %s: %w", sides[i].Name, p.name, err)
					}
					if block > 0 {
						p.times[i] = append(p.times[i], took)
					}
				}
			}
		}
	}
	return protocols, nil
}

func (p *asking) ask(ctx context.Context, conn *pgx.Conn, key int64) (time.Duration, error) {
	sql, args, want, got := "SELECT 1", []any{p.mode}, int64(1), int64(0)
	if p.keyed {
		sql, args, want = "SELECT v FROM keyed WHERE id = $1", append(args, key), key+1
	}
	begin := time.Now()
	err := conn.QueryRow(ctx, sql, args...).Scan(&got)
	took := time.Since(begin)
	if err == nil && got != want {
		err = fmt.Errorf("a wrong answer: %d instead of %d", got, want)
	}
	return took, err
}

// percentile of a non-empty list.
func percentile(d []time.Duration, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(len(sorted)-1, int(p/100*float64(len(sorted))))]
}

func egressReport(o Options, version string, got [2]drained, times [2][]time.Duration, asked []*asking) *Report {
	r := &Report{
		Name: "egress", Machine: thisMachine(),
		Setting: fmt.Sprintf("%d rows × %d columns (%.0f MB of messages), SELECT 1 and a row of as many by its key over"+
			" the PostgreSQL protocol and a unix socket, against %s, medians of %d interleaved runs and of %d questions in"+
			" blocks of %d, hash of all values %016x on both sides; csmsql may use %d threads, PostgreSQL has a process per"+
			" connection", got[0].rows, mixed.Columns(), float64(got[1].bytes)/1e6, version, o.Runs, questions, questionBlock, got[0].hash, o.Threads),
		Columns: []string{"what", "csmsql", "postgresql", "ratio"},
		Samples: map[string][]time.Duration{"all rows, csmsql": times[0], "all rows, postgresql": times[1]},
	}
	line := func(what string, ours, theirs time.Duration) float64 {
		ratio := float64(ours) / float64(theirs)
		r.Rows = append(r.Rows, []any{what, ours, theirs, ratio})
		return ratio
	}
	ratio := line("all rows, text", median(times[0]), median(times[1]))
	r.Goals = []Goal{atMost("all rows: csmsql / PostgreSQL", ratio, 1)}
	var prepared time.Duration // SELECT 1
	for _, p := range asked {
		median := percentile(p.times[0], 50)
		line(p.name+", p50", median, percentile(p.times[1], 50))
		r.Samples[p.name+", csmsql"], r.Samples[p.name+", postgresql"] = p.times[0], p.times[1]
		line(p.name+", p99", percentile(p.times[0], 99), percentile(p.times[1], 99))
		if p.keyed {
			r.Goals = append(r.Goals, atMost(p.name+", p50, in times of SELECT 1", float64(median)/float64(prepared), 2))
			continue
		}
		prepared = median // the last of them is
		r.Goals = append(r.Goals, atMost(p.name+", p50, µs", float64(median.Nanoseconds())/1e3, 150))
	}
	return r
}
