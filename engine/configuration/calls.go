package configuration

import (
	"slices"
	"strings"
	"sync"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// set_config(name, value, is_local) sets what SET does, from within a query: its arguments may be parameters and
// columns.
//
//	planned ─► runs to its end: DuckDB calls csm_set_config for every row ─► noted, checked ─► all are set, or none
//
// Then the rows leave. A call is not seen by current_setting() behind it in the same statement, because that is
// decided when the statement is planned; so such a statement is refused. What calls set_config() from elsewhere than
// a query's own text is refused, too.

// Calls are what one statement's calls of set_config() ask for. Safe for concurrent use.
type Calls struct {
	mu     sync.Mutex // guards the rest
	list   []Call
	failed error
}

// Call is one of them.
type Call struct {
	Name, Value  string
	Reset, Local bool
}

// callsMax bounds the calls of one statement.
const callsMax = 1 << 12

// CallsSetConfig reports whether a text may call it.
func CallsSetConfig(text string) bool { return lex.Mentions(text, "set_config") }

// RefuseAsking is the error of a text that asks for what it may have set.
func RefuseAsking(text string) error {
	text = strings.ToLower(text)
	if strings.LastIndex(text, "current_setting") < strings.Index(text, "set_config") {
		return nil
	}
	return sqlerror.New("0A000", "current_setting() behind set_config() in one statement is not supported").
		WithHint("Ask in the next statement, or ask first: set_config() gives the new value.")
}

// Called is what a row's call of set_config() gives. DuckDB's threads call it, while the session waits for them.
func (s *Session) Called(name, value *string, local bool) (shown string, err error) {
	calls := s.calls
	if calls == nil {
		return "", sqlerror.New("0A000", "set_config() can only be called in a query of its own").
			WithHint("Write SELECT set_config(…), or SET.")
	}
	shown, call, err := s.checkCall(name, value, local)
	calls.mu.Lock()
	defer calls.mu.Unlock()
	if err == nil && len(calls.list) >= callsMax {
		err = sqlerror.New("54000", "a statement may call set_config() %d times", callsMax)
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

// Arm has calls of set_config() noted from now on, until disarm.
func (s *Session) Arm() (calls *Calls, disarm func()) {
	s.calls = &Calls{}
	return s.calls, func() { s.calls = nil }
}

// Armed reports whether they are.
func (s *Session) Armed() bool { return s.calls != nil }

// List is what was asked for, or the error of a call.
func (c *Calls) List() ([]Call, error) { return c.list, c.failed }

// last is the value that the last call so far gives a setting. c may be nil.
func (c *Calls) last(name string) (value string, ok bool) {
	if c == nil {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range slices.Backward(c.list) {
		if strings.EqualFold(call.Name, name) {
			return call.Value, true
		}
	}
	return "", false
}

func (s *Session) checkCall(name, value *string, local bool) (shown string, call Call, err error) {
	if name == nil {
		return "", call, sqlerror.New("22004", "SET requires parameter name")
	}
	call = Call{Name: *name, Local: local, Reset: value == nil}
	if value == nil {
		call.Value, err = s.ResetValue(*name)
	} else {
		call.Value, err = s.ReadText(*name, *value, false)
	}
	if known := setting.Find(*name); known != nil {
		return known.Show(call.Value), call, err
	}
	return call.Value, call, err
}
