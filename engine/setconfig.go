package engine

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// set_config(name, value, is_local) sets what SET does, from within a query: its arguments may be parameters and columns.
//
//	planned ─► runs to its end: DuckDB calls csm_set_config for every row ─► noted, checked ─► all are set, or none ─► the rows leave
//
// A call is not seen by current_setting() behind it in the same statement, because that is decided when the statement is planned; so such a
// statement is refused. What calls set_config() from elsewhere than a query's own text is refused, too.

// configCalls are what one statement's calls of set_config() ask for. Safe for concurrent use.
type configCalls struct {
	mu     sync.Mutex // guards the rest
	list   []configCall
	failed error
}

type configCall struct {
	name, value  string
	reset, local bool
}

// configCallsMax bounds the calls of one statement.
const configCallsMax = 1 << 12

// callsSetConfig tells whether a text may call it.
func callsSetConfig(text string) bool { return strings.Contains(strings.ToLower(text), "set_config") }

func refuseSettingAndAsking(text string) error {
	text = strings.ToLower(text)
	if strings.LastIndex(text, "current_setting") < strings.Index(text, "set_config") {
		return nil
	}
	return sqlerror.New("0A000", "current_setting() behind set_config() in one statement is not supported").
		WithHint("Ask in the next statement, or ask first: set_config() gives the new value.")
}

// calledSetConfig is what a row's call of set_config() gives. DuckDB's threads call it, while the session waits for them.
func (s *Session) calledSetConfig(name, value *string, local bool) (shown string, err error) {
	calls := s.arm
	if calls == nil {
		return "", sqlerror.New("0A000", "set_config() can only be called in a query of its own").WithHint("Write SELECT set_config(…), or SET.")
	}
	shown, call, err := s.checkCall(name, value, local)
	calls.mu.Lock()
	defer calls.mu.Unlock()
	if err == nil && len(calls.list) >= configCallsMax {
		err = sqlerror.New("54000", "a statement may call set_config() %d times", configCallsMax)
	}
	if err != nil {
		if calls.failed == nil {
			calls.failed = err
		}
		return "", err
	}
	calls.list = append(calls.list, call)
	return shown, nil
}

// last is the value that the last call so far gives a setting. c may be nil.
func (c *configCalls) last(name string) (value string, ok bool) {
	if c == nil {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range slices.Backward(c.list) {
		if strings.EqualFold(call.name, name) {
			return call.value, true
		}
	}
	return "", false
}

func (s *Session) checkCall(name, value *string, local bool) (shown string, call configCall, err error) {
	if name == nil {
		return "", call, sqlerror.New("22004", "SET requires parameter name")
	}
	call = configCall{name: *name, local: local, reset: value == nil}
	if value == nil {
		call.value, err = s.resetValue(*name)
	} else {
		call.value, err = s.readText(*name, *value, false)
	}
	if known := setting.Find(*name); known != nil {
		return known.Show(call.value), call, err
	}
	return call.value, call, err
}

// Sets tells whether the statement is a query that may change settings.
func (st *Statement) Sets() bool {
	_, reads := st.parsed.Head.(*statement.Select)
	return reads && callsSetConfig(st.parsed.Text) || st.inner != nil && st.inner.Sets()
}

// readAndSet runs a query that calls set_config().
func (st *Statement) readAndSet(ctx context.Context, args []any) (*Rows, error) {
	s := st.session
	if _, err := s.engine.zones.Names(); err != nil { // a row's call must not ask DuckDB
		return nil, err
	}
	calls := &configCalls{}
	s.arm = calls
	defer func() { s.arm = nil }()
	rows, err := st.read(ctx, args)
	out := s.keeper()
	if err == nil {
		err = out.drain(ctx, rows)
	}
	if err == nil {
		err = s.makeCalls(calls.list)
	} else if calls.failed != nil {
		err = calls.failed
	}
	if err != nil {
		out.release()
		return nil, err
	}
	tag := rows.tag
	kept := out.result(rows.schema, "", out.rows)
	kept.tag = tag
	return kept, nil
}

// drain keeps all rows, and closes them.
func (k *keeper) drain(ctx context.Context, rows *Rows) error {
	defer rows.Close()
	for {
		batch, err := rows.nextOwned(ctx)
		if isEnd(err) {
			return nil
		}
		if err == nil {
			err = k.keep(batch)
			batch.Release()
		}
		if err != nil {
			return err
		}
	}
}

// makeCalls sets what was asked for: all of it or nothing.
func (s *Session) makeCalls(list []configCall) error {
	before := s.settings.clone()
	for _, call := range list {
		if err := s.makeCall(call); err != nil {
			if back := s.apply(before); back != nil {
				return back
			}
			return err
		}
	}
	if len(list) > 0 {
		s.forgetPlans()
	}
	return nil
}

func (s *Session) makeCall(call configCall) error {
	lower := strings.ToLower(call.name)
	if _, is := transactionSettings[lower]; is {
		return s.assignMode(lower, []string{call.value})
	}
	if call.local && s.block == nil {
		return nil // the transaction is the statement, which is over
	}
	return s.change(lower, call.value, call.reset, call.local)
}
