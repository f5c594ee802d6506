package definition

import (
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// CreateSchema is CREATE SCHEMA; notice hears of one that is there.
func CreateSchema(tx *catalog.Transaction, v *snapshot.View, head *statement.CreateSchema,
	notice func(state, message string)) error {
	if err := snapshot.OwnDatabase(head.Database, head.Database+"."+head.Name); err != nil {
		return err
	}
	err := NewSchema(v.Contents, head.Name)
	if e, ok := err.(*sqlerror.Error); ok && e.State == "42P06" && head.IfNotExists {
		notice(e.State, e.Error()+", skipping")
		return nil
	}
	if err != nil {
		return err
	}
	return tx.CreateSchema(head.Name)
}

// NewSchema is an error if there can be no new schema of that name.
func NewSchema(contents *catalog.Contents, name string) error {
	if contents.HasSchema(name) {
		return sqlerror.New("42P06", "schema %q already exists", name)
	}
	if strings.HasPrefix(name, "pg_") || name == "information_schema" ||
		name == names.SystemSchema || name == past.Schema {
		return sqlerror.New("42939", "unacceptable schema name %q", name).
			WithHint("The prefix \"pg_\" and the names \"csm\" and \"csm_past\" are reserved for system schemas.")
	}
	return nil
}
