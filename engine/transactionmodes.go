package engine

import (
	"context"
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
// READ UNCOMMITTED, READ COMMITTED and REPEATABLE READ are one level here, snapshot isolation, which is stronger than the first two;
// SHOW tells it as what it is, repeatable read. SERIALIZABLE is that and more: see serializable.go.

// modes are those of one transaction.
type modes struct {
	readOnly     bool
	serializable bool
	deferrable   bool
}

// Isolation levels, as their settings have them.
const (
	serializableLevel   = "serializable"
	repeatableReadLevel = "repeatable read"
)

// isolationOf is the level that a transaction has that asks for another one.
func isolationOf(asked string) string {
	if asked == serializableLevel {
		return serializableLevel
	}
	return repeatableReadLevel
}

// transactionSettings are the settings that belong to the open transaction.
var transactionSettings = map[string]func(m modes) string{
	"transaction_deferrable": func(m modes) string { return onOrOff(m.deferrable) },
	"transaction_isolation": func(m modes) string {
		if m.serializable {
			return serializableLevel
		}
		return repeatableReadLevel
	},
	"transaction_read_only": func(m modes) string { return onOrOff(m.readOnly) },
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

// modes are those of the open transaction, or of one that would begin now.
func (s *Session) modes() modes {
	if s.block != nil {
		return s.block.modes
	}
	return s.defaultModes()
}

func (s *Session) defaultModes() modes {
	is := func(name, wanted string) bool {
		value, _, _ := s.value(name) // they are known
		return value == wanted
	}
	return modes{
		readOnly: is("default_transaction_read_only", "on"), serializable: is("default_transaction_isolation", serializableLevel),
		deferrable: is("default_transaction_deferrable", "on"),
	}
}

// newBlock is a transaction that begins now.
func (s *Session) newBlock(implicit bool) *block {
	return &block{implicit: implicit, modes: s.defaultModes()}
}

// assignMode is SET of a setting that belongs to the open transaction; words nil: RESET.
func (s *Session) assignMode(lower string, words []string) error {
	if words == nil {
		return sqlerror.New("55P02", "parameter %q cannot be reset", lower).WithHint("Begin another transaction.")
	}
	value, err := setting.Find(lower).Read(setting.Values{}, words...)
	if err != nil {
		return err
	}
	return s.setTransaction(modeOf(lower, value))
}

// modeOf says a setting's value as SET TRANSACTION does.
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

// setTransaction is SET TRANSACTION.
func (s *Session) setTransaction(asked statement.Modes) error {
	if s.block == nil || s.block.implicit {
		s.notice(Notice{Severity: "WARNING", State: "25P01", Message: "SET TRANSACTION can only be used in transaction blocks"})
		if s.block == nil {
			return nil
		}
	}
	return s.changeModes(s.block, asked)
}

// setCharacteristics is SET SESSION CHARACTERISTICS AS TRANSACTION: it sets the defaults of the transactions to come.
func (s *Session) setCharacteristics(asked statement.Modes) error {
	var list []*statement.Set
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
	for _, one := range list {
		if err := s.set(one); err != nil {
			return err
		}
	}
	return nil
}

// changeModes gives a block other modes, as far as it is not too late for them.
func (s *Session) changeModes(b *block, asked statement.Modes) error {
	m, late := b.modes, b.lease != nil
	if asked.Isolation != "" {
		m.serializable = asked.Isolation == serializableLevel
	}
	if asked.ReadOnly || asked.ReadWrite {
		m.readOnly = asked.ReadOnly
	}
	if asked.Deferrable || asked.NotDeferrable {
		m.deferrable = asked.Deferrable
	}
	switch {
	case late && m.serializable != b.modes.serializable:
		return sqlerror.New("25001", "SET TRANSACTION ISOLATION LEVEL must be called before any query")
	case late && b.modes.readOnly && !m.readOnly:
		return sqlerror.New("25001", "transaction read-write mode must be set before any query")
	case late && m.deferrable != b.modes.deferrable:
		return sqlerror.New("25001", "SET TRANSACTION [NOT] DEFERRABLE must be called before any query")
	case asked.Deferrable && !(m.serializable && m.readOnly):
		return sqlerror.New("0A000", "DEFERRABLE means nothing to a transaction that is not SERIALIZABLE READ ONLY").
			WithHint("Leave it out, or write ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE.")
	}
	if m == b.modes {
		return nil
	}
	b.modes = m
	s.yield()
	b.told = true
	return s.identify()
}

// refuseWrite is the error of a statement that would write in a read-only transaction; nil: it may, or does not write.
func (s *Session) refuseWrite(ctx context.Context, st *Statement) error {
	if !s.modes().readOnly {
		return nil
	}
	own, err := s.temporaryNames(ctx)
	if err != nil {
		return err
	}
	if command := st.writes(own); command != "" {
		return readOnlyError(command)
	}
	return nil
}

func readOnlyError(command string) error {
	return sqlerror.New("25006", "cannot execute %s in a read-only transaction", command)
}

// writes names the command if the statement changes what other sessions see, or makes, alters or drops anything, as PostgreSQL has it:
// rows of temporary tables may be changed in a read-only transaction. Empty: it does not.
func (st *Statement) writes(own snapshot.Temporary) string {
	switch head := st.parsed.Head.(type) {
	case *statement.Insert:
		return unless(own.Means(head.Name), "INSERT")
	case *statement.Update:
		return unless(own.Means(head.Name), "UPDATE")
	case *statement.Delete:
		return unless(own.Means(head.Name), "DELETE")
	case *statement.Copy:
		return unless(!head.From || own.Means(head.Name), "COPY FROM")
	case *statement.CreateTable:
		return "CREATE TABLE"
	case *statement.CreateTableAs:
		return "CREATE TABLE AS"
	case *statement.CreateSchema:
		return "CREATE SCHEMA"
	case *statement.CreateView:
		return "CREATE VIEW"
	case *statement.Truncate:
		return "TRUNCATE TABLE"
	case *statement.Drop:
		return "DROP " + strings.ToUpper(string(head.Object))
	case *statement.Rename:
		return "ALTER " + strings.ToUpper(string(head.Object))
	case *statement.AddConstraint, *statement.SetPlacement, *statement.SetStorage, *statement.Reload:
		return "ALTER TABLE"
	case *statement.Private:
		return privateWrites(head)
	}
	if st.inner != nil { // what EXECUTE runs
		return st.inner.writes(own)
	}
	return ""
}

func privateWrites(head *statement.Private) string {
	switch head.Verb {
	case "create", "drop", "alter":
		return strings.ToUpper(strings.TrimSpace(head.Verb + " " + head.Kind))
	case "merge":
		return "MERGE"
	}
	return ""
}

func unless(not bool, command string) string {
	if not {
		return ""
	}
	return command
}
