package engine

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/budget"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/history"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/recordreader"
	"github.com/csmsql/csmsql/engine/split"
)

// Rows is a running statement. Batches may lay their columns out otherwise than Schema says (dictionaries, views) as
// long as the values mean the same; Query's reader does not. Not safe for concurrent use, as its session.
//
// A batch is its receiver's until it is released, with all that was retained of it, whatever becomes of the rows, the session and the engine
// (E7). A node hands out what need not be computed where it lies in its region: until such a batch is released the node cannot use the memory
// for anything else, and an engine that is closed leaves the region mapped. After Engine.Close the bytes are readable and no more than that: if
// the node is started again, in this process or another one, it may write there.
type Rows struct {
	session *Session      // nil: the rows are the engine's own
	schema  *arrow.Schema // nil: the statement returns no rows
	// fetch gives the next batch, which the caller releases, or io.EOF.
	fetch func(ctx context.Context) (arrow.RecordBatch, error)
	// tag of the finished statement, given the number of rows it returned; affected replaces that number when not negative.
	tag      func(rows int64) string
	affected int64
	count    int64
	err      error
	parked   []arrow.RecordBatch // read ahead because another statement needed the connection
	lot      *budget.Lot         // where they are accounted for
	ended    bool
	causeOf  func(error) error // gives the reason of an error that is the end of the statement's context
	closers  []func()
	// inPlace looks whether batches that were handed out, and lie where they were read, are still what was sealed; nil: they are copies.
	inPlace func() error
	block   *block // in which it began, until it is closed
	changes bool   // it reads what its block wrote, which no lease keeps
	closed  bool
	volume  *reader.Volume // what was read for it; nil: nothing of tables
	split   *split.Run     // of a statement that several nodes ran
}

// Schema describes the rows, nil when the statement returns none.
func (r *Rows) Schema() *arrow.Schema { return r.schema }

// enter lets a call of the user in.
func (r *Rows) enter() error {
	if r.session == nil {
		return nil
	}
	return r.session.life.Enter()
}

func (r *Rows) leave() {
	if r.session != nil {
		r.session.life.Leave()
	}
}

// Next gives the next batch, which the caller releases, or io.EOF.
func (r *Rows) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	if len(r.parked) > 0 {
		b := r.parked[0]
		r.parked = r.parked[1:]
		r.lot.Give(b)
		r.count += b.NumRows()
		return b, nil
	}
	b, err := r.next(ctx)
	if err == nil {
		r.count += b.NumRows()
	}
	if r.causeOf != nil {
		err = r.causeOf(err)
	}
	return b, err
}

// Recheck reports whether the batches that Next has given are still what they were (E3): a node hands some out where
// they lie in its region, where another process may alter them. A caller that keeps one calls Recheck before
// using it again; at io.EOF Next has done so.
func (r *Rows) Recheck() error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	if r.err != nil || r.inPlace == nil || r.closed {
		return r.err
	}
	if r.err = r.inPlace(); r.causeOf != nil { // it may have to acquire again, under a context that has ended
		r.err = r.causeOf(r.err)
	}
	return r.err
}

// nextOwned is Next, but of a batch that lies in no region.
func (r *Rows) nextOwned(ctx context.Context) (arrow.RecordBatch, error) {
	batch, err := r.Next(ctx)
	if err != nil || r.inPlace == nil {
		return batch, err
	}
	defer batch.Release()
	owned, err := conform.Copy(memory.DefaultAllocator, batch, batch.Schema())
	if err != nil {
		return nil, err
	}
	if err := r.Recheck(); err != nil {
		owned.Release()
		return nil, err
	}
	return owned, nil
}

func (r *Rows) next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.fetch == nil || r.ended || r.closed {
		return nil, io.EOF
	}
	b, err := r.fetch(ctx)
	switch {
	case err == io.EOF:
		r.ended = true
	case err != nil:
		r.err = err
	}
	return b, err
}

// park reads the rest into memory, so that the DuckDB connection is free for another statement. When that one's
// context ends, so does what the rest is read from: it may take for ever.
func (r *Rows) park(lot *budget.Lot) {
	r.lot = lot
	heard := context.Background()
	if r.session != nil {
		heard = r.session.conn.Heard()
		defer r.session.conn.EndWith(heard)()
	}
	for {
		if err := heard.Err(); err != nil {
			r.err = outcome.Ended(heard, err)
			break
		}
		b, err := r.next(heard)
		if err != nil {
			if err != io.EOF {
				r.err = outcome.Ended(heard, err)
			}
			break
		}
		if !lot.Take(b) {
			b.Release()
			r.err = lot.Of.Full()
			break
		}
		r.parked = append(r.parked, b)
	}
	r.finish()
}

// Tag is PostgreSQL's command tag; it is right after io.EOF.
func (r *Rows) Tag() string {
	if r.tag == nil {
		return "SELECT " + strconv.FormatInt(r.count, 10)
	}
	return r.tag(r.count)
}

func (r *Rows) onClose(f func()) { r.closers = append(r.closers, f) }

// finish gives back what the running statement held; parked batches stay readable.
func (r *Rows) finish() {
	closers := r.closers
	r.closers = nil
	for i := len(closers) - 1; i >= 0; i-- {
		closers[i]()
	}
	r.ended = true
}

// Close ends the statement, finished or not.
func (r *Rows) Close() error {
	s := r.session
	if s == nil {
		r.close()
	} else if s.life.EnterToClose() {
		defer s.life.Leave()
		r.close()
	}
	return nil
}

func (r *Rows) close() {
	if r.closed {
		return
	}
	r.closed = true
	r.finish()
	r.dropParked()
	if r.block != nil {
		delete(r.block.open, r)
		r.block = nil
	}
	if r.session != nil {
		delete(r.session.open, r)
	}
}

func (r *Rows) dropParked() {
	for _, b := range r.parked {
		r.lot.Give(b)
		b.Release()
	}
	r.parked = nil
}

// abandon ends a statement whose work was taken back. The batch that its reader has stays until Close.
func (r *Rows) abandon(err error) {
	r.dropParked()
	r.finish()
	r.err = err
}

// drain runs the statement to its end and drops its rows.
func (r *Rows) drain(ctx context.Context) (Result, error) {
	defer r.close()
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			n := r.count
			if r.affected > 0 {
				n = r.affected
			}
			return Result{Tag: r.Tag(), RowsAffected: n}, nil
		}
		if err != nil {
			return Result{}, err
		}
		b.Release()
	}
}

// done is a statement that returned no rows.
func done(tag string, affected int64) *Rows {
	return &Rows{tag: func(int64) string { return tag }, affected: affected}
}

// newRecordReader shows rows as Arrow's RecordReader, with batches that have exactly the schema's types.
func newRecordReader(rows *Rows) *recordreader.Reader {
	return recordreader.New(rows.schema, rows.nextConformed, func() { _ = rows.Close() })
}

// nextConformed is Next, but of a batch that has exactly the schema's types.
func (r *Rows) nextConformed() (arrow.RecordBatch, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	batch, err := r.Next(context.Background()) // the statement has the caller's context already
	if err != nil {
		return nil, err
	}
	return conform.Batch(batch, r.schema)
}

// remember keeps a query for csm.queries once it has ended.
func (s *Session) remember(text string, started time.Time, rows *Rows, err error) {
	past := history.Query{Started: started, User: s.options.User, Text: text}
	if err != nil {
		past.Took, past.Failure = time.Since(started), err.Error()
		s.engine.history.Add(past)
		return
	}
	rows.onClose(func() {
		past.Took, past.Rows = time.Since(started), rows.count
		if rows.err != nil {
			past.Failure = rows.err.Error()
		}
		if read := rows.volume; read != nil {
			past.Local, past.Remote = read.Local.Load(), read.Remote.Load()
			s.engine.counts.Read(noderpc.FragmentProgress{BytesLocal: past.Local, BytesRemote: past.Remote})
		}
		if rows.split != nil {
			read, fragments := rows.split.Read()
			past.Local, past.Remote, past.Fragments = past.Local+read.BytesLocal, past.Remote+read.BytesRemote, fragments
		}
		s.engine.history.Add(past)
	})
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) }
