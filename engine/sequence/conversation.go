package sequence

import (
	"context"
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Conversation is what a session has had of sequences. Safe for concurrent use, because DuckDB's threads call it.
type Conversation struct {
	keeper *Keeper // nil: the session is not in a node
	ctx    context.Context
	latest func() *catalog.Contents
	// reads reports whether the session may write nothing now.
	reads func() bool
	// own are the names of its temporary sequences.
	own func(ctx context.Context) (snapshot.Temporary, error)

	mu      sync.Mutex // guards the rest
	view    snapshot.View
	current map[catalog.TableID]int64
	last    catalog.TableID // which was asked last, 0: none
}

// Converse begins one, for as long as ctx lasts; of is nil if the session is not in a node.
func Converse(ctx context.Context, keeper *Keeper, of *catalog.Catalog, reads func() bool,
	own func(ctx context.Context) (snapshot.Temporary, error)) *Conversation {
	c := &Conversation{ctx: ctx, reads: reads, own: own, current: map[catalog.TableID]int64{}}
	if of != nil {
		c.keeper, c.latest = keeper, of.Applied
	}
	return c
}

// Read is a text that asks the catalog's sequences where its words are not those of DuckDB's own, temporary ones.
func (c *Conversation) Read(ctx context.Context, read *lex.Text, users dialect.Written) (*lex.Text, dialect.Written,
	error) {
	if !Mentioned(read.SQL) {
		return read, users, nil
	}
	own, err := c.own(ctx)
	if err != nil {
		return read, users, err
	}
	text, made := Translate(read, own)
	return users.Written(read, text, made)
}

// See says what the session's next statement sees.
func (c *Conversation) See(v *snapshot.View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view = snapshot.View{Contents: v.Contents, Path: v.Path, Own: v.Own}
}

// Discard forgets what the session knows (DISCARD SEQUENCES).
func (c *Conversation) Discard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.current)
	c.last = 0
}

// named is the sequence that a text names; the caller has mu.
func (c *Conversation) named(text string) (*catalog.View, Definition, error) {
	name, err := ReadName(text)
	if err != nil {
		return nil, Definition{}, err
	}
	v := c.view
	v.Reads = &lookup.Names{}
	return Find(&v, name)
}

// numbered is a sequence by its number.
func (c *Conversation) numbered(contents *catalog.Contents, number int64) (*catalog.View, Definition, error) {
	view := Numbered(contents, number)
	d, is := Of(view)
	if !is {
		return nil, d, sqlerror.New("42P01", "the sequence with number %d does not exist", number)
	}
	return view, d, nil
}

// newest is a sequence as it was committed last, if that is newer than what the statement sees.
func (c *Conversation) newest(view *catalog.View, d Definition) (*catalog.View, Definition) {
	if c.latest == nil {
		return view, d
	}
	now, ok := c.latest().View(view.Name)
	if !ok || now == view || now.ID != view.ID {
		return view, d
	}
	if other, is := Of(now); is && other.Edition > d.Edition {
		return now, other
	}
	return view, d
}

// Next hands out n values of the sequence with a number, as contents have it.
func (c *Conversation) Next(contents *catalog.Contents, number int64, n int) ([]int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	view, d, err := c.numbered(contents, number)
	if err != nil {
		return nil, err
	}
	return c.next(view, d, n)
}

// Of is Next with the contents.
func (c *Conversation) Of(contents *catalog.Contents) func(number int64, n int) ([]int64, error) {
	return func(number int64, n int) ([]int64, error) { return c.Next(contents, number, n) }
}

func (c *Conversation) next(view *catalog.View, d Definition, n int) ([]int64, error) {
	if err := c.may("nextval"); err != nil {
		return nil, err
	}
	view, d = c.newest(view, d)
	values, err := c.keeper.Next(c.ctx, view.Counter, d, view.Name.Name, n)
	if err == nil && len(values) > 0 {
		c.current[view.ID], c.last = values[len(values)-1], view.ID
	}
	return values, err
}

// may is an error if the session cannot change a sequence.
func (c *Conversation) may(function string) error {
	switch {
	case c.keeper == nil:
		return sqlerror.New("25006", "this session reads the lent memory of another process: no %s()", function).
			WithHint("Ask the node itself: csmsql sql without --attach.")
	case c.reads():
		return sqlerror.New("25006", "cannot execute %s() in a read-only transaction", function)
	}
	return nil
}

// Answer is a duckdb.Counter.
func (c *Conversation) Answer(call duckdb.SequenceCall) ([]int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.Function == duckdb.LastValue {
		return c.lastValue(call)
	}
	if c.view.Contents == nil {
		return nil, sqlerror.New("55000", "no statement is running")
	}
	var view *catalog.View
	var d Definition
	var err error
	switch call.Function {
	case duckdb.NextValueOf, duckdb.SequenceState:
		view, d, err = c.numbered(c.view.Contents, call.Number)
	default:
		view, d, err = c.named(call.Name)
	}
	if err != nil {
		return nil, err
	}
	switch call.Function {
	case duckdb.NextValue, duckdb.NextValueOf:
		return c.next(view, d, call.Rows)
	case duckdb.CurrentValue:
		value, ok := c.current[view.ID]
		if !ok {
			return nil, sqlerror.New("55000", "currval of sequence %q is not yet defined in this session",
				view.Name.Name)
		}
		return repeated(value, call.Rows), nil
	case duckdb.SequenceState:
		return c.state(view, d, call)
	}
	called := call.Called || call.Function == duckdb.SetValue
	if err := c.may("setval"); err != nil {
		return nil, err
	}
	view, d = c.newest(view, d)
	if err := c.keeper.SetTo(c.ctx, view.Counter, d, view.Name.Name, call.Value, called); err != nil {
		return nil, err
	}
	if called {
		c.current[view.ID] = call.Value
	}
	return repeated(call.Value, call.Rows), nil
}

func (c *Conversation) lastValue(call duckdb.SequenceCall) ([]int64, error) {
	value, ok := c.current[c.last]
	if !ok || c.last == 0 {
		return nil, sqlerror.New("55000", "lastval is not yet defined in this session")
	}
	return repeated(value, call.Rows), nil
}

func (c *Conversation) state(view *catalog.View, d Definition, call duckdb.SequenceCall) ([]int64, error) {
	if c.keeper == nil {
		return nil, nil
	}
	view, d = c.newest(view, d)
	last, given, err := c.keeper.State(c.ctx, view.Counter, d)
	switch {
	case err != nil || call.Value == duckdb.StateGiven && !given:
		return nil, err
	case call.Value == duckdb.StateCalled && given:
		last = 1
	case call.Value == duckdb.StateCalled:
		last = 0
	}
	return repeated(last, call.Rows), nil
}

// Counter hands out values by the numbers of sequences, for callers without a conversation.
func (k *Keeper) Counter(ctx context.Context, contents func() *catalog.Contents) duckdb.Counter {
	return func(call duckdb.SequenceCall) ([]int64, error) {
		view := Numbered(contents(), call.Number)
		d, is := Of(view)
		if call.Function != duckdb.NextValueOf || !is {
			return nil, sqlerror.New("0A000", "sequences cannot be asked here but by the default of a column")
		}
		return k.Next(ctx, view.Counter, d, view.Name.Name, call.Rows)
	}
}

// Zeros answers without a sequence, where no value counts.
func Zeros(call duckdb.SequenceCall) ([]int64, error) { return repeated(0, call.Rows), nil }

func repeated(value int64, n int) []int64 {
	values := make([]int64, n)
	for i := range values {
		values[i] = value
	}
	return values
}
