package conversation

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/wire"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// attached asks the engine in this process.
type attached struct {
	engine  *engine.Engine
	session *engine.Session
}

// Attach maps a node's lent memory into this process and asks it here.
func Attach(ctx context.Context, target string, config engine.Config, notice func(Notice)) (Conversation, error) {
	e, err := engine.AttachWith(ctx, target, config)
	if err != nil {
		return nil, failureOf(err)
	}
	session, err := e.Session(engine.SessionOptions{Notice: func(n engine.Notice) {
		notice(Notice{Severity: n.Severity, Message: n.Message, Detail: n.Detail, Hint: n.Hint})
	}})
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return &attached{e, session}, nil
}

// Run implements Conversation.
func (a *attached) Run(ctx context.Context, sql string, sink Sink) error {
	st, err := a.session.Prepare(ctx, sql)
	if err != nil {
		return failureOf(err)
	}
	defer st.Close()
	if n := len(st.Parameters()); n > 0 {
		return &Failure{Severity: "ERROR", State: "42P02", Message: "there is no parameter $" + strconv.Itoa(n)}
	}
	rows, err := st.Execute(ctx, nil)
	if err != nil {
		return failureOf(err)
	}
	defer rows.Close()
	if st.Schema() == nil {
		return a.finish(ctx, rows, sink)
	}
	return a.stream(ctx, st.Schema(), rows, sink)
}

// finish runs a statement without rows to its end.
func (a *attached) finish(ctx context.Context, rows *engine.Rows, sink Sink) error {
	for {
		batch, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return sink.End(rows.Tag())
		}
		if err != nil {
			return failureOf(err)
		}
		batch.Release()
	}
}

func (a *attached) stream(ctx context.Context, schema *arrow.Schema, rows *engine.Rows, sink Sink) error {
	types, columns := make([]pgformat.Type, schema.NumFields()), make([]Column, schema.NumFields())
	for i, f := range schema.Fields() {
		types[i] = pgformat.TypeOf(f)
		columns[i] = Column{Name: f.Name, OID: types[i].OID}
	}
	name, _ := a.session.Setting("TimeZone") // UTC if there is none
	zone, err := pgformat.LoadZone(name)
	if err != nil {
		return err
	}
	encoder, err := pgformat.NewColumns(types, nil, zone)
	if err != nil {
		return err
	}
	if err := sink.Begin(columns); err != nil {
		return err
	}
	count := 0
	for {
		batch, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return sink.End(countedTag(rows.Tag(), count))
		}
		if err != nil {
			return failureOf(err)
		}
		count += int(batch.NumRows())
		err = sendBatch(encoder, batch, sink)
		batch.Release()
		if err != nil {
			return err
		}
	}
}

func countedTag(tag string, rows int) string {
	if tag == "SELECT" {
		return tag + " " + strconv.Itoa(rows)
	}
	return tag
}

// sendBatch writes a batch's rows as text.
func sendBatch(encoder *pgformat.Columns, batch arrow.RecordBatch, sink Sink) error {
	if err := encoder.Bind(batch); err != nil {
		return err
	}
	defer encoder.Unbind()
	var buffer []byte
	values, ends := make([][]byte, encoder.Len()), make([]int, encoder.Len())
	for row := range int(batch.NumRows()) {
		buffer = buffer[:0]
		for i := range ends {
			if !encoder.Null(i, row) {
				buffer = encoder.AppendValue(buffer, i, row)
			}
			ends[i] = len(buffer)
		}
		if err := encoder.Failure(); err != nil {
			return failureOf(err)
		}
		start := 0
		for i, end := range ends {
			values[i] = buffer[start:end:end]
			if encoder.Null(i, row) {
				values[i] = nil
			} else if values[i] == nil {
				values[i] = []byte{}
			}
			start = end
		}
		if err := sink.Row(values); err != nil {
			return err
		}
	}
	return nil
}

// Copy implements Conversation.
func (a *attached) Copy(context.Context, string, io.Reader, io.Writer) (string, error) {
	return "", &wire.Error{
		State: "0A000", Message: "COPY with the client is not supported over attached memory",
		Help: "Ask without --attach, or use --format csv for output.",
	}
}

// Close implements Conversation.
func (a *attached) Close() error { return errors.Join(a.session.Close(), a.engine.Close()) }
