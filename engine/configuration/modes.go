package configuration

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// The modes of transactions: BEGIN, SET TRANSACTION and the settings of the same names say them.
//
//	default_transaction_… ─► modes of the next block ◄─ BEGIN …, SET TRANSACTION …, SET transaction_… = …, before its first query
//
// READ COMMITTED, the default, has each statement see what was committed when it began; READ UNCOMMITTED is the same by
// another name, as in PostgreSQL. REPEATABLE READ is snapshot isolation: all of a transaction sees what its first
// statement saw. SERIALIZABLE is that and more: see catalog.Serializable.

// Modes are those of one transaction.
type Modes struct {
	ReadOnly   bool
	Isolation  string // as the settings have it
	Deferrable bool
}

// serializable is the strongest isolation level, and snapshotLevel the one below.
const (
	serializable  = "serializable"
	snapshotLevel = "repeatable read"
)

// Serializable reports whether the transaction commits only if what it has read is as it was.
func (m Modes) Serializable() bool { return m.Isolation == serializable }

// SeesOneSnapshot reports whether all statements of the transaction see what the first one saw.
func (m Modes) SeesOneSnapshot() bool {
	return m.Isolation == serializable || m.Isolation == snapshotLevel
}

// transactionSettings are the settings that belong to the open transaction.
var transactionSettings = map[string]func(m Modes) string{
	"transaction_deferrable": func(m Modes) string { return onOrOff(m.Deferrable) },
	"transaction_isolation":  func(m Modes) string { return m.Isolation },
	"transaction_read_only":  func(m Modes) string { return onOrOff(m.ReadOnly) },
}

func onOrOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// ofTransaction is the value of a setting that belongs to the open transaction, or to the next one.
func (s *Session) ofTransaction(lower string) (value string, is bool) {
	show, is := transactionSettings[lower]
	if !is {
		return "", false
	}
	return show(s.modes()), true
}

// DefaultModes are those of a transaction that begins now.
func (s *Session) DefaultModes() Modes {
	value := func(name string) string {
		value, _, _ := s.Value(name) // they are known
		return value
	}
	return Modes{
		ReadOnly:   value("default_transaction_read_only") == "on",
		Isolation:  value("default_transaction_isolation"),
		Deferrable: value("default_transaction_deferrable") == "on",
	}
}

// OfTransaction reports whether a setting belongs to the open transaction.
func OfTransaction(lower string) bool { return transactionSettings[lower] != nil }

// ReadMode is what SET of a setting says that belongs to the open transaction, as SET TRANSACTION says it; words nil:
// RESET.
func ReadMode(lower string, words []string) (statement.Modes, error) {
	if words == nil {
		return statement.Modes{}, sqlerror.New("55P02", "parameter %q cannot be reset", lower).
			WithHint("Begin another transaction.")
	}
	value, err := setting.Find(lower).Read(setting.Values{}, words...)
	if err != nil {
		return statement.Modes{}, err
	}
	return modeOf(lower, value), nil
}

func modeOf(lower, value string) statement.Modes {
	on := value == "on"
	switch lower {
	case "transaction_read_only":
		return statement.Modes{ReadOnly: on, ReadWrite: !on}
	case "transaction_deferrable":
		return statement.Modes{Deferrable: on, NotDeferrable: !on}
	}
	return statement.Modes{Isolation: value}
}

// Characteristics are what SET SESSION CHARACTERISTICS AS TRANSACTION sets: the defaults of the transactions to come.
func Characteristics(asked statement.Modes) (list []*statement.Set) {
	set := func(name, value string) {
		list = append(list, &statement.Set{Name: name, Values: []string{value}})
	}
	if asked.Isolation != "" {
		set("default_transaction_isolation", asked.Isolation)
	}
	if asked.ReadOnly || asked.ReadWrite {
		set("default_transaction_read_only", onOrOff(asked.ReadOnly))
	}
	if asked.Deferrable || asked.NotDeferrable {
		set("default_transaction_deferrable", onOrOff(asked.Deferrable))
	}
	return list
}

// Changed are the modes with what is asked for. late: the transaction has taken its snapshot; below: it has savepoints.
func (before Modes) Changed(asked statement.Modes, late, below bool) (Modes, error) {
	m := before
	if asked.Isolation != "" {
		m.Isolation = asked.Isolation
	}
	if asked.ReadOnly || asked.ReadWrite {
		m.ReadOnly = asked.ReadOnly
	}
	if asked.Deferrable || asked.NotDeferrable {
		m.Deferrable = asked.Deferrable
	}
	refused := func(words string) (Modes, error) { return before, sqlerror.New("25001", "%s", words) }
	switch {
	case late && m.Isolation != before.Isolation:
		return refused("SET TRANSACTION ISOLATION LEVEL must be called before any query")
	case below && m.Isolation != before.Isolation:
		return refused("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
	case below && before.ReadOnly && !m.ReadOnly:
		return refused("cannot set transaction read-write mode inside a read-only transaction")
	case late && before.ReadOnly && !m.ReadOnly:
		return refused("transaction read-write mode must be set before any query")
	case below && (asked.Deferrable || asked.NotDeferrable):
		return refused("SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction")
	case late && (asked.Deferrable || asked.NotDeferrable):
		return refused("SET TRANSACTION [NOT] DEFERRABLE must be called before any query")
	case asked.Deferrable && !(m.Serializable() && m.ReadOnly):
		return before, sqlerror.New("0A000", "DEFERRABLE means nothing to a transaction that is not SERIALIZABLE READ ONLY").
			WithHint("Leave it out, or write ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE.")
	}
	return m, nil
}

// ReadOnlyError is that of a command that may not run.
func ReadOnlyError(command string) error {
	return sqlerror.New("25006", "cannot execute %s in a read-only transaction", command)
}

// Writes names the command if a statement changes what other sessions see, or makes, alters or drops anything, as
// PostgreSQL has it: rows of temporary tables may be changed in a read-only transaction. Empty: it does not.
func Writes(head any, own snapshot.Temporary) string {
	switch head := head.(type) {
	case *statement.Insert:
		return unless(own.Means(head.Name), "INSERT")
	case *statement.Update:
		return unless(own.Means(head.Name), "UPDATE")
	case *statement.Delete:
		return unless(own.Means(head.Name), "DELETE")
	case *statement.Merge:
		return unless(own.Means(head.Name), "MERGE")
	case *statement.Copy:
		return unless(!head.From || own.Means(head.Name), "COPY FROM")
	case *statement.CreateTable:
		return "CREATE TABLE"
	case *statement.CreateTableAs:
		if head.Materialized {
			return "CREATE MATERIALIZED VIEW"
		}
		return "CREATE TABLE AS"
	case *statement.Refresh:
		return "REFRESH MATERIALIZED VIEW"
	case *statement.CreateSchema:
		return "CREATE SCHEMA"
	case *statement.CreateView:
		return "CREATE VIEW"
	case *statement.CreateSequence:
		return "CREATE SEQUENCE"
	case *statement.Comment:
		return "COMMENT"
	case *statement.CreateIndex:
		return "CREATE INDEX"
	case *statement.DropIndex:
		return "DROP INDEX"
	case *statement.Reindex:
		return "REINDEX"
	case *statement.CreateFunction:
		return head.Tag()
	case *statement.CreateType:
		return "CREATE TYPE"
	case *statement.AlterType:
		return "ALTER TYPE"
	case *statement.AlterSequence:
		return "ALTER SEQUENCE"
	case *statement.Truncate:
		return "TRUNCATE TABLE"
	case *statement.Drop:
		return "DROP " + strings.ToUpper(string(head.Object))
	case *statement.Rename:
		return "ALTER " + strings.ToUpper(string(head.Object))
	case *statement.AddConstraint, *statement.AlterTable, *statement.SetSchema, *statement.SetPlacement,
		*statement.SetStorage, *statement.Reload:
		return "ALTER TABLE"
	case *statement.Private:
		return privateWrites(head)
	}
	return ""
}

func privateWrites(head *statement.Private) string {
	if slices.Contains([]string{"create", "drop", "alter"}, head.Verb) {
		return strings.ToUpper(strings.TrimSpace(head.Verb + " " + head.Kind))
	}
	return ""
}

func unless(not bool, command string) string {
	if not {
		return ""
	}
	return command
}
