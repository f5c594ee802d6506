package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/worker"
	"github.com/csmsql/csmsql/engine/workforce"
)

// ServeWorker makes this process a worker of the node that has started it, and returns when that needs it no more.
func ServeWorker() error {
	return worker.Serve(&workerSide{sessions: worker.Recent[*workerSession]{Most: workerSessionsMax}})
}

// workerSide runs statements of the node's sessions in a worker, in sessions of its own: one for all that have the
// same user and settings.
type workerSide struct {
	engine   *Engine
	sessions worker.Recent[*workerSession]
}

// A worker keeps so many sessions, each with so many statements that were prepared in the node.
const (
	workerSessionsMax   = 8
	workerStatementsMax = 64
)

type workerSession struct {
	*Session
	key        string
	statements worker.Recent[*workerStatement]
	notice     func(worker.Notice)
}

type workerStatement struct {
	*Statement
	number uint64
}

// Start implements worker.Handler: it attaches to the node.
func (w *workerSide) Start(ctx context.Context, payload []byte) error {
	var c workforce.Start
	if err := json.Unmarshal(payload, &c); err != nil {
		return fmt.Errorf("start message of the node: %w", err)
	}
	e := newEngine(Config{
		Directory: c.Directory, MemoryBytes: c.MemoryBytes, SpillBytes: c.SpillBytes, Threads: c.Threads, Files: c.Files,
		Verify: Verification(c.Verify), Disable: c.Disable, worker: true,
	})
	if err := errors.Join(e.config.Verify.Check(), e.config.disable()); err != nil {
		return err
	}
	if err := e.attach(ctx, c.Socket); err != nil {
		return errors.Join(err, e.Close())
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		const program = 64 << 20
		debug.SetMemoryLimit(program + e.memory.Clients)
	}
	w.engine = e
	return nil
}

// Failed implements worker.Handler: DuckDB takes no statements any more.
func (w *workerSide) Failed() bool {
	select {
	case <-w.engine.Failed():
		return true
	default:
		return false
	}
}

// Describe implements worker.Handler.
func (w *workerSide) Describe(ctx context.Context, asked *worker.Statement, notice func(worker.Notice)) (*worker.Description, error) {
	st, err := w.prepare(ctx, asked, notice)
	if err != nil {
		return nil, err
	}
	return describe(st.Statement)
}

func describe(st *Statement) (*worker.Description, error) {
	d := &worker.Description{AsText: st.asText()}
	for _, t := range st.Parameters() {
		d.Parameters = append(d.Parameters, int(t))
	}
	schema := st.Schema()
	if schema == nil {
		return d, nil
	}
	var err error
	d.Columns, err = worker.EncodeSchema(schema)
	return d, err
}

// Execute implements worker.Handler.
func (w *workerSide) Execute(ctx context.Context, asked *worker.Statement, notice func(worker.Notice)) (worker.Rows, error) {
	st, err := w.prepare(ctx, asked, notice)
	if err != nil {
		return nil, err
	}
	args, err := argument.Decode(asked.Arguments)
	if err != nil {
		return nil, err
	}
	rows, err := st.Execute(ctx, args)
	if err != nil {
		return nil, err
	}
	return &workerRows{rows, st.Statement}, nil
}

// workerRows are those of a statement, for the node.
type workerRows struct {
	rows *Rows
	st   *Statement
}

// Description implements worker.Rows.
func (r *workerRows) Description() (*worker.Description, error) { return describe(r.st) }

// Next implements worker.Rows.
func (r *workerRows) Next(ctx context.Context) (arrow.RecordBatch, error) { return r.rows.Next(ctx) }

// Read implements worker.Rows.
func (r *workerRows) Read() (local, remote int64) {
	if v := r.rows.volume; v != nil {
		return v.Local.Load(), v.Remote.Load()
	}
	return 0, 0
}

// Close implements worker.Rows.
func (r *workerRows) Close() { r.rows.close() }

// prepare gives the statement that the node means, planned for its snapshot. One that the worker has is
// replanned when it is executed, if it must be.
func (w *workerSide) prepare(ctx context.Context, asked *worker.Statement, notice func(worker.Notice)) (*workerStatement, error) {
	if err := w.engine.borrower.Follow(ctx, asked.Record, catalog.Revision(asked.Revision)); err != nil {
		return nil, err
	}
	s, err := w.session(asked)
	if err != nil {
		return nil, err
	}
	s.notice = notice
	if st, ok := s.statements.Use(func(st *workerStatement) bool { return st.number == asked.Number }); ok {
		if !st.failed {
			return st, nil
		}
		s.statements.Drop()
		st.close()
	}
	inner, err := s.PrepareIn(ctx, asked.Text, DialectDuckDB)
	if err != nil {
		return nil, err
	}
	st := &workerStatement{inner, asked.Number}
	if old, goes := s.statements.Add(st); goes {
		old.close()
	}
	return st, nil
}

// session gives one with the user and the settings of the node's.
func (w *workerSide) session(asked *worker.Statement) (*workerSession, error) {
	var key strings.Builder
	key.WriteString(asked.User)
	for _, name := range slices.Sorted(maps.Keys(asked.Settings)) {
		key.WriteString("\x00" + name + "\x00" + asked.Settings[name])
	}
	if s, ok := w.sessions.Use(func(s *workerSession) bool { return s.key == key.String() }); ok {
		return s, nil
	}
	made := &workerSession{key: key.String(), statements: worker.Recent[*workerStatement]{Most: workerStatementsMax}}
	inner, err := w.engine.Session(SessionOptions{User: asked.User, Notice: func(n Notice) { made.notice(worker.Notice(n)) }})
	if err != nil {
		return nil, err
	}
	made.Session = inner
	settings := configuration.Default(asked.User)
	for name, value := range asked.Settings { // the node has checked them
		settings.Put(name, value)
	}
	made.notice = func(worker.Notice) {}
	if err := inner.apply(settings); err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	if old, goes := w.sessions.Add(made); goes {
		return made, old.Close()
	}
	return made, nil
}
