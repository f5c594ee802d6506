package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/wire"
	"github.com/csmsql/csmsql/wire/pgcopy"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// fakeBackend is an engine of a dozen commands. Every statement, result and session it hands out is counted until it is
// closed, so that tests see leaks.
type fakeBackend struct {
	open     atomic.Int64  // things that must be closed
	batches  atomic.Int64  // produced by ROWS
	waiting  chan struct{} // WAIT and COPYIN say here that they have begun
	waiter   atomic.Value  // the context of the last WAIT
	account  *account.Node // nil: nothing is counted
	split    chan struct{} // SPLIT waits for it
	settled  chan struct{} // guarded by mu; sessions are not done before it is closed; nil: they are
	kept     atomic.Int64  // what connections had not given back at their end
	mu       sync.Mutex
	copied   []string       // guarded by mu; what COPYIN read
	stream   io.Reader      // guarded by mu; of the last COPYIN
	implicit []string       // guarded by mu; BeginImplicit and EndImplicit
	sessions []*fakeSession // guarded by mu; all that were opened
}

func newFake() *fakeBackend {
	return &fakeBackend{waiting: make(chan struct{}, 100), split: make(chan struct{})}
}

func (b *fakeBackend) Open(_ context.Context, start wire.Startup) (wire.Session, error) {
	if start.Database == "panic" {
		panic("database panic")
	}
	if start.Database == "missing" {
		return nil, &fakeError{state: "3D000", message: `database "missing" does not exist`}
	}
	b.open.Add(1)
	s := &fakeSession{backend: b, start: start, status: wire.TxIdle}
	b.mu.Lock()
	b.sessions = append(b.sessions, s)
	b.mu.Unlock()
	if b.account != nil {
		s.account = b.account.Open(start.ProcessID, start.User)
	}
	return s, nil
}

type fakeError struct {
	state, message, detail, hint string
	position                     int
}

func (e *fakeError) Error() string    { return e.message }
func (e *fakeError) SQLState() string { return e.state }
func (e *fakeError) Detail() string   { return e.detail }
func (e *fakeError) Hint() string     { return e.hint }
func (e *fakeError) Position() int    { return e.position }

type fakeSession struct {
	backend *fakeBackend
	start   wire.Startup
	status  wire.TxStatus
	named   map[string]string // by PREPARE
	account *account.Session
	timeout time.Duration // by TIMEOUT
	hurried bool          // by HURRY, until RELAX

	hearing sync.Mutex
	heard   []wire.Notification // guarded by hearing
	taken   int                 // guarded by hearing; how many Heard gave
}

// hear is what happens elsewhere: the last payload of each channel is kept.
func (s *fakeSession) hear(channel, payload string) {
	s.hearing.Lock()
	s.heard = slices.DeleteFunc(s.heard, func(n wire.Notification) bool { return n.Channel == channel })
	s.heard = append(s.heard, wire.Notification{Channel: channel, Payload: payload})
	s.hearing.Unlock()
	s.start.Client.Heard()
}

// Heard implements wire.Hearing.
func (s *fakeSession) Heard(most int) []wire.Notification {
	s.hearing.Lock()
	defer s.hearing.Unlock()
	n := min(most, len(s.heard))
	list := slices.Clone(s.heard[:n])
	s.heard = slices.Delete(s.heard, 0, n)
	s.taken += n
	return list
}

// Timeout implements wire.Timed.
func (s *fakeSession) Timeout() time.Duration { return s.timeout }

// Patience implements wire.Patient: between HURRY and RELAX there is none.
func (s *fakeSession) Patience() (time.Duration, error) {
	if !s.hurried {
		return 0, nil
	}
	return time.Nanosecond, errSilent
}

var errSilent = &fakeError{state: "57P05", message: "terminating connection due to idle-session timeout"}

// Settle implements wire.Settling.
func (s *fakeSession) Settle(ctx context.Context) error {
	s.backend.mu.Lock()
	settled := s.backend.settled
	s.backend.mu.Unlock()
	if settled == nil {
		return nil
	}
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *fakeBackend) settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.settled)
}

// Take implements wire.Accounted.
func (s *fakeSession) Take(kind string, bytes int64) error {
	if s.account == nil {
		return nil
	}
	return s.account.Take(kind, bytes)
}

// Give implements wire.Accounted.
func (s *fakeSession) Give(kind string, bytes int64) {
	if s.account != nil {
		s.account.Give(kind, bytes)
	}
}

// Fail implements wire.Failing.
func (s *fakeSession) Fail() {
	if s.status == wire.TxActive {
		s.status = wire.TxFailed
	}
}

// HasNamed implements wire.Named.
func (s *fakeSession) HasNamed(name string) bool { return s.named[name] != "" }

// PrepareNamed implements wire.Named.
func (s *fakeSession) PrepareNamed(ctx context.Context, name string) (wire.Statement, bool, error) {
	if s.named[name] == "" {
		return nil, false, nil
	}
	st, err := s.Prepare(ctx, lex.Client.Text(s.named[name]), nil)
	return st, err == nil, err
}

// ForgetNamed implements wire.Named.
func (s *fakeSession) ForgetNamed(name string) { delete(s.named, name) }

func (s *fakeSession) Status() wire.TxStatus { return s.status }

func (s *fakeSession) Close() error {
	s.backend.open.Add(-1)
	if s.account != nil {
		s.backend.kept.Add(s.account.Used())
		s.account.Close()
	}
	return nil
}

func (s *fakeSession) Split(text *lex.Text) (statements []*lex.Text, err error) {
	sql := text.SQL
	for _, part := range strings.Split(sql, ";") {
		if part = strings.TrimSpace(part); part != "" {
			statements = append(statements, lex.Client.Text(part))
		}
		if part == "SPLIT" {
			s.backend.waiting <- struct{}{}
			<-s.backend.split
		}
		if strings.Contains(part, "SYNTAX") {
			return nil, &fakeError{state: "42601", message: "syntax error", position: strings.Index(sql, "SYNTAX") + 1}
		}
	}
	return statements, nil
}

func (s *fakeSession) BeginImplicit(context.Context) error { return s.note("begin") }

func (s *fakeSession) EndImplicit(_ context.Context, failed bool) error {
	s.note(fmt.Sprintf("end failed=%v", failed))
	return nil
}

func (s *fakeSession) note(event string) error {
	s.backend.mu.Lock()
	defer s.backend.mu.Unlock()
	s.backend.implicit = append(s.backend.implicit, event)
	return nil
}

// CursorFields implements wire.Cursors: inside of a transaction there is one cursor.
func (s *fakeSession) CursorFields(name string) (*arrow.Schema, bool) {
	if name != "sqlcursor" || s.status == wire.TxIdle {
		return nil, false
	}
	return columnsOf(arrow.Field{Name: "i", Type: arrow.PrimitiveTypes.Int64}), true
}

// columnsOf builds a schema from "name:type" words.
func columnsOf(fields ...arrow.Field) *arrow.Schema { return arrow.NewSchema(fields, nil) }

func (s *fakeSession) Prepare(ctx context.Context, text *lex.Text, types []uint32) (wire.Statement, error) {
	sql := text.SQL
	words := strings.Fields(sql)
	if len(words) == 0 { // to Go more is white than to SQL
		words = []string{""}
	}
	if strings.HasSuffix(sql, "FROM STDIN") { // psql sends a stream only for a command that it recognises
		words = []string{"COPYIN", "csv"}
	}
	st := fakeStatement{session: s, words: words, types: types}
	int4 := columnsOf(arrow.Field{Name: "?column?", Type: arrow.PrimitiveTypes.Int32})
	switch words[0] {
	case "SELECT":
		st.schema = int4
	case "ROWS", "HEAVY", "FAILAFTER", "STALE":
		st.schema = columnsOf(arrow.Field{Name: "i", Type: arrow.PrimitiveTypes.Int64}, arrow.Field{Name: "t", Type: arrow.BinaryTypes.String})
	case "ECHO":
		st.schema = columnsOf(arrow.Field{Name: "echo", Type: arrow.BinaryTypes.String})
	case "UNDEFINED":
		return nil, &fakeError{state: "42P01", message: "relation does not exist", detail: "a detail", hint: "a hint", position: 11}
	case "PANIC":
		panic("statement panic")
	case "PLAN": // for ever
		<-ctx.Done()
		return nil, ctx.Err()
	case "COPYIN":
		s.backend.open.Add(1)
		return &fakeCopyIn{st}, nil
	case "COPYOUT":
		st.schema = columnsOf(arrow.Field{Name: "i", Type: arrow.PrimitiveTypes.Int64}, arrow.Field{Name: "t", Type: arrow.BinaryTypes.String})
		s.backend.open.Add(1)
		return &fakeCopyOut{st}, nil
	}
	s.backend.open.Add(1)
	return &st, nil
}

type fakeStatement struct {
	session *fakeSession
	words   []string
	types   []uint32
	schema  *arrow.Schema
}

func (st *fakeStatement) Parameters() []uint32 {
	if st.words[0] == "ECHO" {
		oids := make([]uint32, len(st.words)-1)
		for i, word := range st.words[1:] {
			oid, _ := strconv.ParseUint(word, 10, 32)
			oids[i] = uint32(oid)
		}
		return oids
	}
	return nil
}

func (st *fakeStatement) Untimed() bool         { return st.words[0] == "LONGCOMMIT" }
func (st *fakeStatement) Fields() *arrow.Schema { return st.schema }
func (st *fakeStatement) Close() error          { st.session.backend.open.Add(-1); return nil }

func (st *fakeStatement) number(at int) int {
	n, _ := strconv.Atoi(st.word(at))
	return n
}

// word is empty where the text has no more: fuzzing says anything.
func (st *fakeStatement) word(at int) string {
	if at >= len(st.words) {
		return ""
	}
	return st.words[at]
}

func (st *fakeStatement) Execute(ctx context.Context, args []wire.Value) (wire.Result, error) {
	s := st.session
	r := &fakeResult{session: s, schema: st.schema, tag: st.words[0]}
	switch st.words[0] {
	case "SELECT":
		r.rows, r.tag = 1, "SELECT"
	case "ROWS":
		r.rows, r.tag = st.number(1), "SELECT"
	case "STALE":
		r.rows, r.tag, r.stale = st.number(1), "SELECT", &fakeError{state: "XX001", message: "altered while it was read"}
	case "COPYOUT":
		r.rows, r.tag, r.deaf = st.number(2), "COPY", st.word(3) == "deaf"
	case "HEAVY":
		r.rows, r.tag, r.text = st.number(1), "SELECT", strings.Repeat("x", st.number(2))
	case "FAILAFTER":
		r.rows, r.failAfter = st.number(1), true
	case "ECHO":
		r.tag, r.echo = "SELECT", args
		r.rows = 1
	case "FAIL":
		return nil, &fakeError{state: "22012", message: "division by zero"}
	case "WAIT":
		s.backend.waiter.Store(ctx)
		s.backend.waiting <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	case "TOOLATE": // it succeeds all the same
		s.backend.waiting <- struct{}{}
		<-ctx.Done()
	case "LONGCOMMIT":
		time.Sleep(20 * time.Millisecond)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	case "UNSETTLE":
		s.backend.mu.Lock()
		s.backend.settled = make(chan struct{})
		s.backend.mu.Unlock()
		s.timeout = 20 * time.Millisecond
	case "DOUBT":
		<-ctx.Done()
		return nil, &fakeError{state: "08007", message: "transaction resolution unknown"}
	case "TIMEOUT":
		s.timeout = time.Duration(st.number(1)) * time.Millisecond
	case "HURRY", "RELAX":
		s.hurried = st.words[0] == "HURRY"
	case "PANICRUN":
		panic("execute panic")
	case "BEGIN":
		s.status = wire.TxActive
	case "COMMIT", "ROLLBACK":
		s.status = wire.TxIdle
	case "NOTICE":
		for range st.number(1) {
			s.start.Client.Notice(wire.Notice{Message: "take note", Hint: "or not"})
		}
	case "PREPARE":
		if s.named == nil {
			s.named = map[string]string{}
		}
		s.named[st.word(1)] = strings.Join(st.words[min(2, len(st.words)):], " ")
	case "NAMES": // those of Parse, and whether the first can be found
		names := s.start.Client.PreparedNames()
		_, found := s.start.Client.Prepared(st.word(1))
		r.tag = fmt.Sprint("NAMES ", names, found)
	case "SET":
		s.start.Client.SetParameter(st.word(1), st.word(2))
	case "DEALLOCATE":
		_, ours := s.named[st.word(1)]
		delete(s.named, st.word(1))
		if !s.start.Client.Deallocate(st.word(1)) && !ours {
			return nil, &fakeError{state: "26000", message: "no such prepared statement"}
		}
	case "INSERT":
		r.tag = "INSERT 0 " + st.word(1)
	}
	s.backend.open.Add(1)
	return r, nil
}

const fakeBatchRows = 1000

type fakeResult struct {
	session   *fakeSession
	schema    *arrow.Schema
	rows, at  int
	tag, text string
	echo      []wire.Value
	failAfter bool
	deaf      bool
	stale     error
	batch     arrow.RecordBatch
}

// Recheck implements wire.Rechecker.
func (r *fakeResult) Recheck() error { return r.stale }

func (r *fakeResult) CommandTag() string { return r.tag }

func (r *fakeResult) Close() error { r.release(); r.session.backend.open.Add(-1); return nil }

func (r *fakeResult) release() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

func (r *fakeResult) Next(ctx context.Context) (arrow.RecordBatch, error) {
	r.release()
	if err := ctx.Err(); err != nil && r.tag != "TOOLATE" && !r.deaf {
		return nil, err
	}
	if r.at >= r.rows {
		if r.failAfter {
			return nil, errors.New("failed in the middle")
		}
		return nil, io.EOF
	}
	count := min(fakeBatchRows, r.rows-r.at)
	r.session.backend.batches.Add(1)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, r.schema)
	defer builder.Release()
	for i := range count {
		r.row(builder, r.at+i+1)
	}
	r.at += count
	r.batch = builder.NewRecordBatch()
	return r.batch, nil
}

func (r *fakeResult) row(builder *array.RecordBuilder, number int) {
	switch field := builder.Field(0).(type) {
	case *array.Int32Builder:
		field.Append(int32(number))
	case *array.Int64Builder:
		field.Append(int64(number))
	case *array.StringBuilder:
		var echoes []string
		for _, value := range r.echo {
			echoes = append(echoes, showValue(value.Data))
		}
		field.Append(strings.Join(echoes, " | "))
	}
	if len(r.schema.Fields()) > 1 {
		text := builder.Field(1).(*array.StringBuilder)
		switch {
		case r.text != "":
			text.Append(r.text)
		case number%3 == 0:
			text.AppendNull()
		default:
			text.Append("row\t" + strconv.Itoa(number))
		}
	}
}

func showValue(data any) string {
	if list, ok := data.(*pgformat.Array); ok {
		return fmt.Sprintf("array %d %v %v", list.ElementOID, list.Dimensions, list.Elements)
	}
	return fmt.Sprintf("%T %v", data, data)
}

func copyFormat(word string) pgcopy.Format {
	return map[string]pgcopy.Format{"text": pgcopy.Text, "csv": pgcopy.CSV, "binary": pgcopy.Binary}[word]
}

// fakeCopyOut is COPYOUT format rows [deaf]: it may not hear that it was cancelled.
type fakeCopyOut struct{ fakeStatement }

func (st *fakeCopyOut) CopyOut() pgcopy.Options {
	return pgcopy.Options{Format: copyFormat(st.word(1)), Header: st.word(1) == "csv"}
}

// fakeCopyIn is COPYIN format [fail|enough|interrupted]: it keeps what it reads, or fails at the first byte, or wants no
// more than that, or fails while it reads on.
type fakeCopyIn struct{ fakeStatement }

func (st *fakeCopyIn) CopyInFormat() (bool, int) { return st.word(1) == "binary", 2 }

func (st *fakeCopyIn) CopyIn(_ context.Context, stream io.Reader) (string, error) {
	b := st.session.backend
	b.mu.Lock()
	b.stream = stream
	b.mu.Unlock()
	if len(st.words) > 2 {
		var one [1]byte
		if _, err := stream.Read(one[:]); err != nil {
			return "", err
		}
		switch st.words[2] {
		case "enough":
			return "COPY 1", nil
		case "interrupted":
			reading := make(chan error)
			go func() {
				_, err := io.Copy(io.Discard, stream)
				reading <- err
			}()
			select {
			case err := <-reading:
				return "", fmt.Errorf("the client was to be silent: %w", err)
			case <-time.After(20 * time.Millisecond):
			}
			stream.(wire.CopyInStream).Interrupt()
			if err := <-reading; err == nil {
				return "", errors.New("the interrupted stream came to its end")
			}
		}
		return "", &fakeError{state: "22P04", message: "bad row"}
	}
	b.waiting <- struct{}{}
	all, err := io.ReadAll(stream)
	if err != nil {
		return "", fmt.Errorf("reading: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.copied = append(b.copied, string(all))
	return fmt.Sprintf("COPY %d", strings.Count(string(all), "\n")), nil
}
