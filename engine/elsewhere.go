package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/planned"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/revalidation"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/worker"
	"github.com/csmsql/csmsql/engine/workforce"
	"github.com/csmsql/csmsql/sql/dialect"
)

// Workers are processes that run a node's queries, so that a crash of DuckDB costs one of them and not the node.
type Workers = workforce.Workers

// Workers are this node's, as they are now.
func (e *Engine) Workers() []worker.Status {
	if e.workers == nil {
		return nil
	}
	return e.workers.Pool.Status()
}

// startWorkers starts them if there are to be some.
func (e *Engine) startWorkers() {
	c := &e.config
	e.workers = workforce.Open(workforce.Config{
		Workers: c.Workers, Catalog: e.catalog, Directory: c.Directory, MemoryBytes: e.memory.Worker, SpillBytes: c.SpillBytes,
		Threads: c.Threads, Files: c.Files, Verify: string(c.Verify), Disable: c.Disable, Parking: &e.parking, Log: c.Log,
	})
}

// elsewhere is what the node keeps of a query that a worker runs.
type elsewhere struct {
	number  uint64
	named   map[string]bool // in its text
	columns []byte          // of its schema
	process int             // that had it last: it may have its plan
	asText  bool
}

// asText reports whether the statement was planned as if its parameters were text: nothing says what one of them is.
func (st *Statement) asText() bool {
	return st.plan != nil && st.plan.AsText || st.elsewhere != nil && st.elsewhere.asText
}

// mayLeave reports whether the session, as it is now, lets its queries go to a worker.
func (s *Session) mayLeave() bool {
	if s.engine.workers == nil || s.temporary || s.seeded || s.fragment || s.settings.Backend == configuration.BackendCompute {
		return false
	}
	// The unit that one message makes reads one snapshot, and DuckDB's transaction is each statement's.
	b := s.block
	return b == nil || b.implicit && b.Changes == nil && !b.duck && b.reads == nil
}

// planElsewhere has a worker plan the query, if it may go to one. What the Arrow kernels run better stays, as
// planned: it never sees DuckDB.
func (st *Statement) planElsewhere(ctx context.Context, v *snapshot.View) (planned *query, ok bool, err error) {
	s := st.session
	if !s.mayLeave() {
		return nil, false, nil
	}
	named, may := workforce.Leaves(st.parsed.Text)
	if !may || !s.engine.workers.ViewsLeave(named, v.Contents) {
		return nil, false, nil
	}
	if planned, err = st.planTrivial(v); planned != nil || err != nil {
		return planned, false, err
	}
	s.yield() // a result that streams has a worker, and it may be the only one
	x := &elsewhere{number: s.engine.workers.Number(), named: named}
	s.turn.Pause() // the worker has a processor
	result, err := s.engine.workers.Pool.Describe(ctx, s.forWorker(st, x, nil), s.engine.workers.Snapshot(v.Lease.Snapshot), 0, v.Lease.Hold().Release)
	s.turn.Resume()
	if err != nil {
		return nil, false, s.engine.workers.Error(err)
	}
	defer result.Close()
	x.process = result.Process()
	d := result.Description()
	x.asText, x.columns, st.params = d.AsText, d.Columns, workforce.Types(d.Parameters)
	if st.schema, err = workforce.Columns(d); err != nil {
		return nil, false, err
	}
	if st.schema != nil {
		st.origins = s.origins(st.parsed.Text, st.source(st.parsed.Text).Tree, v, st.schema)
	}
	s.tellNotices(result)
	st.elsewhere, st.planText, st.run = x, st.parsed.Text, st.readElsewhere
	return nil, true, nil
}

// planTrivial plans what the Arrow kernels run without being asked to. A text with strings may have to be written
// in another way first.
func (st *Statement) planTrivial(v *snapshot.View) (*query, error) {
	s, text := st.session, st.parsed.Text
	in := st.source(text)
	tree := in.Tree
	if tree == nil || bytes.IndexByte([]byte(text), '\'') >= 0 {
		return nil, nil
	}
	q := s.newQuery(in, v)
	q.tokens = nil
	if ok, err := q.planCompute(s.read(in, v).names, v); !ok || err != nil {
		return nil, err
	}
	q.schema = planned.ClientNames(q.schema, tree, q.catalog)
	q.origins = s.origins(text, tree, v, q.schema)
	return q, nil
}

// forWorker is the statement as a worker receives it.
func (s *Session) forWorker(st *Statement, x *elsewhere, args [][]byte) *worker.Statement {
	return &worker.Statement{Number: x.number, Text: st.parsed.Text, User: s.options.User, Settings: workforce.SettingsOfAnswers(s.settings.Given), Arguments: args}
}

func (s *Session) tellNotices(r *worker.Result) {
	for _, n := range r.Notices() {
		s.notice(Notice(n))
	}
}

// readElsewhere has a worker run the query. A session that has changed since it was prepared may have to run it itself.
func (st *Statement) readElsewhere(ctx context.Context, args []any) (*Rows, error) {
	s, x := st.session, st.elsewhere
	encoded, err := argument.Encode(args)
	if err != nil || !s.mayLeave() {
		return st.readHere(ctx, args)
	}
	v, err := s.pinRead(ctx, false, nil)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	if err := st.means(v); err != nil {
		return nil, err
	}
	if !s.engine.workers.ViewsLeave(x.named, v.Contents) {
		return st.readHere(ctx, args)
	}
	s.yield() // as above
	started := time.Now()
	s.noticeAge(v)
	rows, err := st.beginElsewhere(ctx, v, encoded)
	s.remember(st.parsed.Text, started, rows, err)
	return rows, err
}

// readHere plans and runs the query in the node after all.
func (st *Statement) readHere(ctx context.Context, args []any) (*Rows, error) {
	st.elsewhere, st.run = nil, st.read
	args, err := dialect.Arguments(st.parsed.Text, st.params, args)
	if err != nil {
		return nil, err
	}
	return st.read(ctx, args)
}

func (st *Statement) beginElsewhere(ctx context.Context, v *snapshot.View, args [][]byte) (*Rows, error) {
	s, x := st.session, st.elsewhere
	e := s.engine
	result, err := e.workers.Pool.Execute(ctx, s.forWorker(st, x, args), e.workers.Snapshot(v.Lease.Snapshot), x.process, v.Lease.Hold().Release)
	if err != nil {
		return nil, e.workers.Error(err)
	}
	x.process = result.Process()
	if d := result.Description(); !bytes.Equal(d.Columns, x.columns) {
		schema, err := workforce.Columns(d)
		if err == nil && !(schema == nil && st.schema == nil || schema != nil && st.schema != nil && schema.Equal(st.schema)) {
			err = revalidation.Outdated()
		}
		if err != nil {
			result.Close()
			return nil, err
		}
	}
	rows := &Rows{schema: st.schema, volume: &reader.Volume{}}
	rows.fetch = func(ctx context.Context) (arrow.RecordBatch, error) {
		batch, err := result.Next(ctx)
		if errors.Is(err, io.EOF) {
			local, remote := result.Read() // the worker's own, which lends nothing, and this node's
			rows.volume.Local.Store(local + remote)
			s.tellNotices(result)
			return nil, io.EOF
		}
		return batch, e.workers.Error(err)
	}
	rows.onClose(result.Close)
	rows.onClose(func() {
		if s.running == rows {
			s.running = nil
		}
	})
	s.running = rows
	return rows, nil
}
