package frontend

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/wire"
)

// prepared is a prepared statement.
type prepared struct {
	session    *session
	engine     *engine.Statement
	sql        string
	changed    edits // that made the engine's text of sql
	parameters []uint32
	fields     *arrow.Schema
	since      time.Time
}

// Parameters implements wire.Statement.
func (p *prepared) Parameters() []uint32 { return p.parameters }

// Fields implements wire.Statement.
func (p *prepared) Fields() *arrow.Schema { return p.fields }

// Close implements wire.Statement.
func (p *prepared) Close() error { return p.engine.Close() }

// Execute implements wire.Statement.
func (p *prepared) Execute(ctx context.Context, args []wire.Value) (wire.Result, error) {
	s := p.session
	s.backend.executed.Add(1)
	rows, err := p.execute(ctx, args)
	if err != nil {
		s.backend.failed.Add(1)
		return nil, err
	}
	return &result{rows: rows, returnsRows: p.engine.Schema() != nil, backend: s.backend}, nil
}

func (p *prepared) execute(ctx context.Context, args []wire.Value) (*engine.Rows, error) {
	if err := exactNumerics(args, p.changed); err != nil {
		return nil, err
	}
	values, err := engineValues(args)
	if err != nil {
		return nil, err
	}
	rows, err := p.engine.Execute(ctx, values)
	if err != nil {
		return nil, p.changed.moveBack(p.sql, err)
	}
	if p.engine.Schema() == nil {
		p.session.after(rows.Tag())
	} else if p.engine.Sets() {
		p.session.report()
	}
	return rows, nil
}

// after does what a statement without rows means for the protocol's side of the session.
func (s *session) after(tag string) {
	switch tag {
	case "SET", "RESET", "BEGIN", "COMMIT", "ROLLBACK", "DISCARD ALL":
		s.report()
	}
}

// result streams rows to wire.
type result struct {
	rows        *engine.Rows
	current     arrow.RecordBatch // handed out by Next (F3)
	returnsRows bool
	backend     *Backend
}

// Next implements wire.Result.
func (r *result) Next(ctx context.Context) (arrow.RecordBatch, error) {
	r.drop()
	batch, err := r.rows.Next(ctx)
	if err != nil {
		if err != io.EOF {
			r.backend.failed.Add(1)
		}
		return nil, err
	}
	r.current = batch
	return batch, nil
}

// Recheck implements wire.Rechecker.
func (r *result) Recheck() error {
	err := r.rows.Recheck()
	if err != nil {
		r.backend.failed.Add(1)
	}
	return err
}

func (r *result) drop() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

// CommandTag implements wire.Result. How many rows the client got wire knows better: a portal may have been cut off.
func (r *result) CommandTag() string {
	tag := r.rows.Tag()
	if word, _, ok := strings.Cut(tag, " "); ok && r.returnsRows && (word == "SELECT" || word == "COPY" || word == "FETCH") {
		return word
	}
	return tag
}

// Close implements wire.Result.
func (r *result) Close() error {
	r.drop()
	return r.rows.Close()
}
