package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/csmsql/csmsql/internal/anomaly"
)

// client is one session and its transaction.
type client struct {
	*Workload
	*rand.Rand
	number  int
	session Session // nil: it has to be opened

	plan  []step
	open  bool // a block is open
	now   anomaly.Transaction
	begun anomaly.Moment // when the first step of the next statement was asked; 0: none was
}

// step is one SQL statement and what it does; it receives the rows.
type step struct {
	sql  string
	text func() string // in the place of sql, when it is known only then
	kind stepKind
	does []anomaly.Operation
	of   []object // are read
	then func()   // was answered; nil: nothing is left to do
}

type stepKind uint8

const (
	opens     stepKind = iota // a block
	does                      // is a statement of the transaction
	helps                     // belongs to a statement of the transaction, before or behind it
	alone                     // is a transaction by itself
	commits                   // ends the block
	rollsBack                 // ends the block
	beside                    // is none of the transaction's
)

// begin plans a transaction.
func (c *client) begin() {
	c.now = anomaly.Transaction{Session: c.number, Level: anomaly.Level(c.IntN(3))}
	if len(c.options.Beside) > 0 && c.IntN(20) == 0 {
		c.add(step{sql: c.options.Beside[c.IntN(len(c.options.Beside))], kind: beside})
	}
	if c.IntN(4) == 0 {
		c.now.Level = anomaly.SnapshotIsolation // it is alone: all levels are alike
		if c.IntN(2) == 0 {
			c.read(alone)
		} else {
			c.append(alone)
		}
		return
	}
	level := [...]string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}[c.now.Level]
	c.add(step{sql: "BEGIN ISOLATION LEVEL " + level, kind: opens})
	for range 1 + c.IntN(5) {
		switch n := c.IntN(20); {
		case n < 9:
			c.append(does)
		case n < 16:
			c.read(does)
		case n < 18:
			c.writeBack()
		case n < 19:
			c.add(step{sql: "SAVEPOINT p", kind: helps})
			if c.append(does) {
				undone := &c.plan[len(c.plan)-1]
				for i := range undone.does {
					undone.does[i].Undone = true
				}
			}
			c.add(step{sql: "ROLLBACK TO p", kind: helps})
		default:
			c.add(step{sql: "SAVEPOINT p", kind: helps})
			c.append(does)
			c.add(step{sql: "RELEASE p", kind: helps})
		}
	}
	if c.IntN(8) == 0 {
		c.add(step{sql: "ROLLBACK", kind: rollsBack})
	} else {
		c.add(step{sql: "COMMIT", kind: commits})
	}
}

func (c *client) add(s step) { c.plan = append(c.plan, s) }

func (c *client) table(of func(*table) bool) *table {
	for {
		if t := tables[c.IntN(len(tables))]; of(t) {
			return t
		}
	}
}

// append plans an append of one value, or of two rows; false: there was no value left.
func (c *client) append(kind stepKind) bool {
	t := c.table(func(t *table) bool { return t.appends != nil })
	o := c.objects.choose(c.Rand, t)
	value := c.objects.value(o)
	if value == 0 {
		if kind == alone { // nothing else is planned
			c.read(alone)
		}
		return false
	}
	s := step{
		sql: t.appends[c.IntN(len(t.appends))](o.key, value), kind: kind,
		does: []anomaly.Operation{anomaly.Append(o.name(), anomaly.Value(value))},
	}
	if t.name == "inserts" && c.IntN(3) == 0 {
		other := c.objects.choose(c.Rand, t)
		if more := c.objects.value(other); more > 0 {
			s.sql += fmt.Sprintf(", (%d, %d)", other.key, more)
			s.does = append(s.does, anomaly.Append(other.name(), anomaly.Value(more)))
		}
	}
	c.add(s)
	return true
}

// read plans a read of some objects, of one table or of several.
func (c *client) read(kind stepKind) {
	var of []object
	one := c.table(func(*table) bool { return true })
	several := c.IntN(2) == 0
	for range 1 + c.IntN(4) {
		t := one
		if several {
			t = c.table(func(*table) bool { return true })
		}
		if o := c.objects.choose(c.Rand, t); !slices.Contains(of, o) {
			of = append(of, o)
		}
	}
	c.add(step{sql: queryAll(of), kind: kind, of: of})
}

// writeBack plans to read a list and to write it with another value, which READ COMMITTED must not do without a lock.
func (c *client) writeBack() {
	t := c.table(func(t *table) bool { return t.writes != nil })
	o := c.objects.choose(c.Rand, t)
	value := anomaly.Value(c.objects.value(o))
	if value == 0 {
		return
	}
	more := ""
	if c.now.Level == anomaly.ReadCommitted || c.IntN(4) == 0 {
		more = " FOR UPDATE"
	}
	var known []anomaly.Value
	c.add(step{sql: t.query([]object{o}, more), kind: does, of: []object{o}, then: func() {
		operations := c.now.Statements[len(c.now.Statements)-1].Operations
		known = operations[0].Values
	}})
	for i, n := 0, len(t.writes(0, "")); i < n; i++ {
		s := step{kind: helps, text: func() string {
			return t.writes(o.key, list(append(slices.Clone(known), value)))[i]
		}}
		if i == n-1 {
			s.kind, s.does = does, []anomaly.Operation{anomaly.Append(o.name(), value)}
		}
		c.add(s)
	}
}

// step asks what is planned next.
func (c *client) step(ctx context.Context) {
	if c.session == nil && !c.enter(ctx) {
		c.plan = nil
		return
	}
	s := c.plan[0]
	c.plan = c.plan[1:]
	if s.text != nil {
		s.sql = s.text()
	}
	before := c.Workload.now()
	if c.begun == 0 {
		c.begun = before
	}
	if s.kind == commits || s.kind == rollsBack {
		c.now.Ending = before
	}
	rows, err := c.session.Query(ctx, s.sql)
	after := c.Workload.now()
	if err != nil {
		c.refused(ctx, s, err, after)
		return
	}
	switch s.kind {
	case opens:
		c.open, c.begun = true, 0
	case helps:
		if len(c.now.Statements) > 0 { // the first one may have the snapshot that the transaction has
			c.begun = 0
		}
	case beside:
		c.begun = 0
	case does, alone:
		if !c.answered(s, rows, after) {
			c.plan = nil
			return
		}
		if s.kind == alone {
			c.end(anomaly.Committed, after)
		}
	case commits:
		c.end(anomaly.Committed, after)
	case rollsBack:
		c.end(anomaly.Aborted, after)
	}
}

// answered keeps what a statement has done.
func (c *client) answered(s step, rows [][]string, after anomaly.Moment) bool {
	done := anomaly.Statement{Begin: c.begun, End: after, Operations: s.does}
	for _, o := range s.of {
		values, err := o.values(rows)
		if err != nil {
			c.fail(fmt.Errorf("%s: %w", s.sql, err))
			return false
		}
		done.Operations = append(done.Operations, anomaly.Read(o.name(), values...))
	}
	c.now.Statements = append(c.now.Statements, done)
	c.begun = 0
	if s.then != nil {
		s.then()
	}
	return true
}

// end keeps the transaction.
func (c *client) end(outcome anomaly.Outcome, after anomaly.Moment) {
	c.now.Outcome, c.now.End = outcome, after
	if c.now.Ending == 0 && len(c.now.Statements) > 0 {
		c.now.Ending = c.now.Statements[len(c.now.Statements)-1].End
		if len(c.now.Statements) == 1 && !c.open {
			c.now.Ending = 0 // with its statement
		}
	}
	c.record(c.now)
	c.open, c.begun, c.plan = false, 0, nil
}

// conflicts are the SQLSTATEs of transactions that have lost a conflict: they did nothing.
var conflicts = []string{"40001", "40P01", "55P03"}

// refused handles the error of a step.
func (c *client) refused(ctx context.Context, s step, err error, after anomaly.Moment) {
	c.plan = nil
	var sqlError interface{ SQLState() string }
	state := "connection"
	if errors.As(err, &sqlError) {
		state = sqlError.SQLState()
	}
	conflict := slices.Contains(conflicts, state)
	unanswered := !conflict && c.options.Unanswered != nil && c.options.Unanswered(err)
	if !conflict && !unanswered {
		c.fail(fmt.Errorf("client %d, in %s: %s: %s: %w", c.number, c.now.Level, s.sql, state, err))
	}
	c.fair(state)
	outcome := anomaly.Aborted
	if unanswered && (s.kind == commits || s.kind == alone && len(s.does) > 0) {
		outcome = anomaly.Unknown
	}
	if s.kind == alone && outcome == anomaly.Unknown {
		c.now.Statements = []anomaly.Statement{{Begin: c.begun, End: after, Operations: s.does}}
	}
	if unanswered {
		c.leave()
	} else if c.open && s.kind != commits {
		if _, err := c.session.Query(ctx, "ROLLBACK"); err != nil {
			if c.options.Unanswered == nil || !c.options.Unanswered(err) {
				c.fail(fmt.Errorf("ROLLBACK: %w", err))
			}
			c.leave()
		}
	}
	if s.kind == beside {
		c.begun = 0
		return
	}
	if s.kind != alone {
		c.now.Ending = max(c.now.Ending, c.begun)
	}
	// A refused append is recorded, too: no transaction may see it.
	if outcome == anomaly.Aborted && len(s.does) > 0 {
		c.now.Statements = append(c.now.Statements, anomaly.Statement{Begin: c.begun, End: after, Operations: s.does})
		c.now.Ending = 0
	}
	c.end(outcome, c.Workload.now())
}

// enter opens the session; false: something is wrong.
func (c *client) enter(ctx context.Context) bool {
	for {
		s, err := c.options.Open(ctx, c.number)
		if err == nil {
			c.session = s
			return true
		}
		if c.options.Unanswered == nil || !c.options.Unanswered(err) || ctx.Err() != nil {
			c.fail(fmt.Errorf("client %d: %w", c.number, err))
			return false
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond): // a node that is gone is back after a while
		}
	}
}

func (c *client) leave() {
	if c.session != nil {
		c.session.Close()
		c.session = nil
	}
}

// look reads objects in one transaction, until that is answered.
func (c *client) look(ctx context.Context, of []object) {
	const atOnce = 40
	for !c.failed() {
		c.now = anomaly.Transaction{Session: c.number, Level: anomaly.SnapshotIsolation}
		c.add(step{sql: "BEGIN ISOLATION LEVEL REPEATABLE READ", kind: opens})
		for part := range slices.Chunk(of, atOnce) {
			c.add(step{sql: queryAll(part), kind: does, of: part})
		}
		c.add(step{sql: "COMMIT", kind: commits})
		ended := false
		for len(c.plan) > 0 {
			ended = c.plan[0].kind == commits
			c.step(ctx)
		}
		c.mu.Lock()
		ended = ended && c.history[len(c.history)-1].Outcome == anomaly.Committed
		c.mu.Unlock()
		if ended {
			return
		}
	}
}
