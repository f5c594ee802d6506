package anomaly

import (
	"fmt"
	"strings"
)

// Key names an object: a list or a set.
type Key string

// Value is what is appended; of one object's values none is appended twice.
type Value int64

// Moment is a number that grows from one question or answer to the next, over all sessions.
type Moment int64

// Level is what a transaction was promised.
type Level uint8

// Levels. A snapshot is taken by the first statement, in ReadCommitted by each.
const (
	ReadCommitted Level = iota
	SnapshotIsolation
	Serializable
)

func (l Level) String() string {
	return [...]string{"READ COMMITTED", "snapshot isolation", "SERIALIZABLE"}[l]
}

// Outcome is how a transaction ended, as its client knows.
type Outcome uint8

// Outcomes. Unknown is the one of a client that asked for a commit and was not answered.
const (
	Committed Outcome = iota
	Aborted
	Unknown
)

func (o Outcome) String() string { return [...]string{"committed", "aborted", "unknown"}[o] }

// History is transactions in any order; the number of one is its place here.
type History []Transaction

// Transaction is what one client asked of the database in one transaction.
type Transaction struct {
	Session    int
	Level      Level
	Outcome    Outcome
	Statements []Statement // those that were answered, in their order
	Ending     Moment      // before its end was asked for; 0: with its only statement
	End        Moment      // when the answer to that was there
}

// Statement is what was asked at once, and is answered out of one state.
type Statement struct {
	Begin, End Moment
	Operations []Operation
}

// Operation is an append of a value, or a read of all values.
type Operation struct {
	Key    Key
	Append bool
	Value  Value   // that is appended
	Undone bool    // the transaction has taken the append back (ROLLBACK TO SAVEPOINT), before it read the object again
	Values []Value // that were read
}

// Append is the operation that appends a value.
func Append(key Key, value Value) Operation { return Operation{Key: key, Append: true, Value: value} }

// Read is the operation that has read the values.
func Read(key Key, values ...Value) Operation { return Operation{Key: key, Values: values} }

// String is the operation as explanations show it.
func (o Operation) String() string {
	switch {
	case o.Undone:
		return fmt.Sprintf("append %d to %s and take it back", o.Value, o.Key)
	case o.Append:
		return fmt.Sprintf("append %d to %s", o.Value, o.Key)
	}
	return fmt.Sprintf("read %s: %v", o.Key, o.Values)
}

// String is the transaction in one line.
func (t *Transaction) String() string {
	var statements []string
	for _, s := range t.Statements {
		var operations []string
		for _, o := range s.Operations {
			operations = append(operations, o.String())
		}
		statements = append(statements, fmt.Sprintf("%d–%d %s", s.Begin, s.End, strings.Join(operations, ", ")))
	}
	return fmt.Sprintf("session %d, %v, %v at %d–%d: %s",
		t.Session, t.Level, t.Outcome, t.ending(), t.End, strings.Join(statements, "; "))
}

// ending is before the end was asked for.
func (t *Transaction) ending() Moment {
	if t.Ending == 0 && len(t.Statements) > 0 {
		return t.Statements[0].Begin
	}
	return t.Ending
}

// valid says what is wrong with the moments of a transaction, or nil.
func (t *Transaction) valid(number int) error {
	last := Moment(0)
	for i, s := range t.Statements {
		if s.Begin < last || s.End < s.Begin {
			return fmt.Errorf("transaction T%d: statement %d is from %d to %d, behind %d", number, i, s.Begin, s.End, last)
		}
		last = s.End
	}
	if t.Ending != 0 && t.Ending < last || t.End < last || t.End < t.Ending {
		return fmt.Errorf("transaction T%d ends from %d to %d, its last statement at %d", number, t.Ending, t.End, last)
	}
	return nil
}
