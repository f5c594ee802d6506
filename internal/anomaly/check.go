package anomaly

import (
	"fmt"
	"slices"
	"strings"
)

// Options say what else was promised, and which objects are sets.
type Options struct {
	// Set reports whether an object is a set; nil: all are lists.
	Set func(Key) bool
	// Session: each session's transactions are in its order.
	Session bool
	// RealTime: a statement that begins after any session got an answer sees a state at least as new as that answer's.
	// It implies Session.
	RealTime bool
	// EveryRead checks the reads of transactions that did not commit as well.
	EveryRead bool
}

// Kind is the name of an anomaly.
type Kind string

// Kinds. Those of cycles may have one of the orders behind them, as in G-single-realtime.
const (
	Duplicate         Kind = "duplicate"          // a value is there twice
	UnknownValue      Kind = "unknown value"      // one that no transaction has appended
	LostAppend        Kind = "lost append"        // one that was committed is not there afterwards, in any read
	Internal          Kind = "internal"           // a transaction does not see what it did, or saw
	IncompatibleOrder Kind = "incompatible order" // two reads show values in different orders
	LostUpdate        Kind = "lost update"
	G0                Kind = "G0"
	G1a               Kind = "G1a"
	G1b               Kind = "G1b"
	G1c               Kind = "G1c"
	GSingle           Kind = "G-single"
	GNonadjacent      Kind = "G-nonadjacent"
	G2                Kind = "G2"

	session  = "-session"
	realTime = "-realtime"
)

// Anomaly is something that the promises rule out.
type Anomaly struct {
	Kind         Kind
	Transactions []int    // that show it, by their numbers in the history
	Why          []string // a line for each thing that was seen, with the edges of a cycle in its order
	history      History
}

// String explains the anomaly, in several lines.
func (a Anomaly) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", a.Kind)
	for _, line := range a.Why {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	shown := slices.Compact(slices.Sorted(slices.Values(a.Transactions)))
	for _, number := range shown {
		fmt.Fprintf(&b, "    T%d: %s\n", number, a.history[number].String())
	}
	return b.String()
}

// Check lists the anomalies of a history (AN2); an error says that it is none: a value was appended twice, or moments
// run backwards.
func Check(h History, o Options) ([]Anomaly, error) {
	c := &checker{history: h, options: o, writers: map[Key]map[Value]writer{}, versions: map[Key]*versions{}}
	if err := c.index(); err != nil {
		return nil, err
	}
	c.readAll()
	c.order()
	c.lostAppends()
	c.lostUpdates()
	c.cycles()
	return c.found, nil
}

// checker is one check under way.
type checker struct {
	history  History
	options  Options
	writers  map[Key]map[Value]writer
	keys     []Key // in the order of their first mention
	readings []reading
	versions map[Key]*versions
	found    []Anomaly
}

// writer is the transaction that has appended a value.
type writer struct {
	transaction int
	place       int // among the transaction's appends to the object that it did not take back
	undone      bool
}

// reading is what one read has shown of others.
type reading struct {
	transaction, statement int
	key                    Key
	values                 []Value // without the transaction's own
}

// versions is what is known of one object.
type versions struct {
	set      bool
	appended []Value        // by all transactions, in the order of the history
	order    []Value        // the longest that was read of a list
	place    map[Value]int  // in order
	unknown  bool           // reads of a list do not agree on an order
	observed map[Value]bool // by another transaction than the one that appended it
	lost     map[Value]bool
	counts   map[int]int // how many values each transaction has appended and not taken back
	readings []int
}

func (c *checker) report(kind Kind, transactions []int, why ...string) {
	c.found = append(c.found, Anomaly{Kind: kind, Transactions: transactions, Why: why, history: c.history})
}

// index records which transaction has appended which value.
func (c *checker) index() error {
	for number := range c.history {
		t := &c.history[number]
		if err := t.valid(number); err != nil {
			return err
		}
		for _, s := range t.Statements {
			for _, o := range s.Operations {
				v := c.object(o.Key)
				if !o.Append {
					continue
				}
				if other, ok := c.writers[o.Key][o.Value]; ok {
					return fmt.Errorf("transaction T%d appends %d to %s, which T%d has appended",
						number, o.Value, o.Key, other.transaction)
				}
				c.writers[o.Key][o.Value] = writer{number, v.counts[number], o.Undone}
				v.appended = append(v.appended, o.Value)
				if !o.Undone {
					v.counts[number]++
				}
			}
		}
	}
	return nil
}

func (c *checker) object(key Key) *versions {
	if v, ok := c.versions[key]; ok {
		return v
	}
	v := &versions{
		set: c.options.Set != nil && c.options.Set(key), place: map[Value]int{}, observed: map[Value]bool{},
		lost: map[Value]bool{}, counts: map[int]int{},
	}
	c.versions[key], c.writers[key] = v, map[Value]writer{}
	c.keys = append(c.keys, key)
	return v
}

// effective reports whether the transaction is known to have committed (AN3).
func (c *checker) effective(number int) bool {
	t := &c.history[number]
	if t.Outcome != Unknown {
		return t.Outcome == Committed
	}
	for _, s := range t.Statements {
		for _, o := range s.Operations {
			if o.Append && c.versions[o.Key].observed[o.Value] {
				return true
			}
		}
	}
	return false
}
