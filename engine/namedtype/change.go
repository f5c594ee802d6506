package namedtype

import (
	"context"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Changes are what a statement does to types, in its transaction.
type Changes struct {
	Tx   *catalog.Transaction
	View *snapshot.View     // of the statement
	Conn *duckdb.Connection // on which nothing streams
	// Notice sends the client a notice.
	Notice func(message, detail string)
}

// Command is what a statement does to types, and its command tag; nil: nothing.
func Command(head any) (tag string, do func(ctx context.Context, c *Changes) error) {
	switch head := head.(type) {
	case *statement.CreateType:
		return "CREATE TYPE", func(ctx context.Context, c *Changes) error { return c.create(ctx, head) }
	case *statement.AlterType:
		return "ALTER TYPE", func(ctx context.Context, c *Changes) error { return c.alter(ctx, head) }
	case *statement.Rename:
		if isOfTypes(head.Object) {
			return "ALTER " + strings.ToUpper(string(head.Object)), func(ctx context.Context, c *Changes) error {
				return c.rename(ctx, head.Object, head.Name, catalog.TableName{Name: head.To})
			}
		}
	case *statement.SetSchema:
		if isOfTypes(head.Object) {
			return "ALTER " + strings.ToUpper(string(head.Object)), func(ctx context.Context, c *Changes) error {
				return c.rename(ctx, head.Object, head.Name, catalog.TableName{Schema: head.Schema})
			}
		}
	case *statement.Comment:
		if isOfTypes(head.Object) {
			return "COMMENT", func(_ context.Context, c *Changes) error { return c.comment(head) }
		}
	}
	return "", nil
}

func isOfTypes(object statement.Object) bool {
	return object == statement.Type || object == statement.Domain
}

// keptQuery is the query of a statement that makes a view, or a materialized one.
func keptQuery(head any) (query string, kept bool) {
	switch head := head.(type) {
	case *statement.CreateView:
		return head.Query, true
	case *statement.CreateTableAs:
		return head.Query, head.Materialized
	}
	return "", false
}

// namesOne reports whether a statement names a type to change it.
func namesOne(head any) bool {
	switch head.(type) {
	case *statement.CreateType, *statement.CreateFunction, *statement.AlterType, *statement.Drop, *statement.Rename,
		*statement.SetSchema, *statement.Comment:
		return true
	}
	return false
}

// isWhole reports whether a statement of a session, which may have temporary objects, is given to DuckDB as a text, or
// is kept as one.
func isWhole(head any, temporary bool) bool {
	switch head := head.(type) {
	case *statement.CreateView, *statement.Private:
		return true
	case *statement.CreateTableAs:
		return head.Temporary || head.Materialized
	case *statement.Insert, *statement.Update, *statement.Delete:
		return temporary
	}
	return false
}

func (c *Changes) create(ctx context.Context, head *statement.CreateType) error {
	name, err := c.View.QualifyType(head.Name)
	if err != nil {
		return err
	}
	taken, err := Taken(ctx, c.Tx.Contents(), c.Conn, name)
	if err != nil {
		return err
	}
	if taken {
		return sqlerror.New("42710", "type %q already exists", name.Name)
	}
	if err := checkLabels(head.Labels); err != nil {
		return err
	}
	_, err = c.Tx.CreateType(ctx, &catalog.UserType{Name: name}, head.Labels...)
	return err
}

// Taken reports whether a type is called so: one of the users', the rows of a relation, or one of the system's.
func Taken(ctx context.Context, now *catalog.Contents, conn *duckdb.Connection, name catalog.TableName) (bool, error) {
	for other := range now.Alike(name) {
		if other.Schema == name.Schema {
			return true, nil
		}
	}
	if columntype.Reserved(name.Name) {
		return true, nil
	}
	known, err := conn.Texts(ctx, "SELECT type_name FROM system.main.duckdb_types() WHERE database_name <> 'temp' AND "+
		"lower(type_name) = lower($1) LIMIT 1", name.Name)
	return len(known) > 0, err
}

// checkLabels is PostgreSQL's error of labels that are none, or ours of too many.
func checkLabels(labels []string) error {
	seen := map[string]bool{}
	for _, l := range labels {
		switch {
		case len(l) > enumeration.LabelBytes:
			return sqlerror.New("42602", "invalid enum label %s", quote(l)).
				WithDetail("Labels must be 63 bytes or less.")
		case seen[l]:
			return sqlerror.New("23505", "duplicate key value violates unique constraint %q", "pg_enum_typid_label_index").
				WithDetail("The label " + quote(l) + " is there twice.")
		}
		seen[l] = true
	}
	if len(labels) > enumeration.LabelsMost {
		return tooMany(len(labels))
	}
	return nil
}

func tooMany(labels int) error {
	return sqlerror.New("0A000", "a type of %d labels is not supported: it may have %d", labels, enumeration.LabelsMost).
		WithHint("Use text, and a table of the values with a FOREIGN KEY to it.")
}

// quote puts a label in quotes, as PostgreSQL's messages do.
func quote(label string) string { return `"` + label + `"` }
