package index

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Changes are what a statement does to indexes, in its transaction.
type Changes struct {
	Tx   *catalog.Transaction
	View *snapshot.View // of the statement
	// InBlock: the transaction is one that BEGIN has begun.
	InBlock bool
	// Whole is an error if rows of a version have a key twice that an older declaration has not.
	Whole func(ctx context.Context, version *catalog.TableVersion, table, older catalog.Table) error
	// Order sorts the rows that are there by the columns that they are to be found by.
	Order  func(ctx context.Context, tx *catalog.Transaction, name catalog.TableName) error
	Notice func(message, detail string)
}

// Command is what a statement about indexes does, with its tag; nil: it is none.
func Command(head any) (tag string, do func(ctx context.Context, c *Changes) error) {
	switch head := head.(type) {
	case *statement.CreateIndex:
		return "CREATE INDEX", func(ctx context.Context, c *Changes) error { return c.create(ctx, head) }
	case *statement.DropIndex:
		return "DROP INDEX", func(ctx context.Context, c *Changes) error { return c.drop(head) }
	case *statement.Reindex:
		return "REINDEX", func(ctx context.Context, c *Changes) error { return c.reindex(ctx, head) }
	case *statement.Rename:
		if head.Object == statement.Index {
			return "ALTER INDEX", func(ctx context.Context, c *Changes) error { return c.rename(head) }
		}
	}
	return "", nil
}

// outside is an error in a block.
func (c *Changes) outside(command string) error {
	if c.InBlock {
		return sqlerror.New("25001", "%s CONCURRENTLY cannot run inside a transaction block", command)
	}
	return nil
}

func (c *Changes) create(ctx context.Context, head *statement.CreateIndex) error {
	if head.Concurrently {
		if err := c.outside("CREATE INDEX"); err != nil {
			return err
		}
	}
	version, err := c.target(head.Table)
	if err != nil {
		return err
	}
	table := version.Table()
	list, err := constraint.Of(table.Columns)
	if err != nil {
		return err
	}
	k, err := read(table, head)
	if err != nil {
		return err
	}
	if k, err = c.named(k, list, table.Name); err != nil {
		if head.IfNotExists && err.(*sqlerror.Error).State == "42P07" {
			c.Notice(fmt.Sprintf("relation %q already exists, skipping", head.Name), "")
			return nil
		}
		return err
	}
	columns, err := constraint.Mark(table.Columns, append(slices.Clone(list), k.Identified(list)))
	if err != nil {
		return err
	}
	if err := c.Tx.Redeclare(table.Name, columns); err != nil {
		return err
	}
	now, ok := c.Tx.Contents().Table(table.Name)
	if !ok || now.Rows() == 0 {
		return nil
	}
	if err := c.Whole(ctx, now, now.Table(), table); err != nil {
		return err
	}
	return c.Order(ctx, c.Tx, table.Name)
}

// target is the table that a statement names.
func (c *Changes) target(name statement.Name) (*catalog.TableVersion, error) {
	version, err := c.View.Stored(name)
	if err == nil {
		return version, nil
	}
	e, ok := err.(*sqlerror.Error)
	if !ok {
		return nil, err
	}
	moved := *e
	switch {
	case err == snapshot.ErrTemporary:
		moved = *sqlerror.New("0A000", "an index of a temporary table is not supported").
			WithHint("Leave it out: the table is scanned.")
	case e.State == "42809":
		moved = *sqlerror.New("42809", "cannot create index on relation %q", name.Name)
		moved.DetailText = "This operation is not supported for views."
	}
	moved.At = name.At
	return nil, &moved
}

// named gives an index a name that no other relation of the schema has.
func (c *Changes) named(k constraint.Constraint, list []constraint.Constraint,
	table catalog.TableName) (constraint.Constraint, error) {
	var failed error
	taken := func(name string) bool {
		is, err := constraint.Taken(c.Tx.Contents(), catalog.TableName{Schema: table.Schema, Name: name})
		if err != nil {
			failed = err
		}
		return is && failed == nil || slices.ContainsFunc(list, func(o constraint.Constraint) bool { return o.Name == name })
	}
	if k.Name != "" && taken(k.Name) {
		return k, sqlerror.New("42P07", "relation %q already exists", k.Name)
	}
	if k.Name != "" && slices.ContainsFunc(list, func(o constraint.Constraint) bool { return o.Name == k.Name }) {
		return k, sqlerror.New("42710", "constraint %q for relation %q already exists", k.Name, table.Name)
	}
	k = k.NamedBeside(table.Name, taken)
	if failed != nil {
		return k, sqlerror.New("XX001", "table %v: %v", table, failed)
	}
	return k, nil
}

// columnsMax is how many columns PostgreSQL's indexes have.
const columnsMax = 32

// read makes the entry of an index, without a name if none was written.
func read(table catalog.Table, head *statement.CreateIndex) (constraint.Constraint, error) {
	k := constraint.Constraint{
		Name: head.Name, Kind: constraint.Index, Index: head.Unique, Held: head.Unique,
		NullsNotDistinct: head.Unique && head.NullsNotDistinct,
	}
	if head.Unique {
		k.Kind = constraint.Unique
	}
	if head.FillFactor > 0 {
		k.Options = []string{fmt.Sprintf("fillfactor=%d", head.FillFactor)}
	}
	if err := method(&k, head); err != nil {
		return k, err
	}
	if len(head.Columns) > columnsMax {
		return k, sqlerror.New("54011", "cannot use more than %d columns in an index", columnsMax)
	}
	for i, c := range head.Columns {
		at := ingest.Index(table.Columns, c.Name)
		if at < 0 {
			return k, sqlerror.New("42703", "column %q does not exist", c.Name)
		}
		f := table.Columns.Field(at)
		if err := fits(f, c.Class, k.Words()); err != nil {
			err.At = c.At
			return k, err
		}
		k.Columns = append(k.Columns, f.Name)
		k.Orders = filled(k.Orders, i, c.Order)
		if strings.HasSuffix(c.Class, "_pattern_ops") {
			k.Classes = filled(k.Classes, i, c.Class)
		}
	}
	return k, nil
}

// filled puts a text in its place of a list that is only as long as it has to be.
func filled(list []string, i int, text string) []string {
	if text == "" {
		return list
	}
	return append(append(list, make([]string, i-len(list))...), text)
}

// method takes how the index is to be kept. Each is kept in sorted order, which finds what hash does.
func method(k *constraint.Constraint, head *statement.CreateIndex) error {
	ordered := func(c statement.IndexColumn) bool { return c.Ordered }
	placed := func(c statement.IndexColumn) bool { return c.NullsPlaced }
	refuse := func(what string) error {
		return sqlerror.New("0A000", "access method \"hash\" does not support %s", what)
	}
	switch head.Method {
	case "", "btree":
		return nil
	case "gin", "gist", "spgist", "brin":
		return sqlerror.New("0A000", "CREATE INDEX … USING %s is not supported", head.Method).
			WithHint("There are btree and hash. Scans skip chunks by their statistics, as brin does, without an index.")
	case "hash":
	default:
		return sqlerror.New("42704", "access method %q does not exist", head.Method)
	}
	k.Method = "hash"
	switch {
	case head.Unique:
		return refuse("unique indexes")
	case len(head.Columns) > 1:
		return refuse("multicolumn indexes")
	case slices.ContainsFunc(head.Columns, ordered):
		return refuse("ASC/DESC options")
	case slices.ContainsFunc(head.Columns, placed):
		return refuse("NULLS FIRST/LAST options")
	}
	return nil
}

// classes are the operator classes that an index may name, with the kind of the types that they take. All compare as
// the types do: text by its bytes, which is what the pattern classes are for.
var classes = map[string]string{
	"text_ops": "text", "varchar_ops": "text", "bpchar_ops": "text", "name_ops": "text", "text_pattern_ops": "text",
	"varchar_pattern_ops": "text", "bpchar_pattern_ops": "text", "int2_ops": "integer", "int4_ops": "integer",
	"int8_ops": "integer", "float4_ops": "float", "float8_ops": "float", "numeric_ops": "numeric", "bool_ops": "boolean",
	"date_ops": "date", "time_ops": "time", "timestamp_ops": "timestamp", "timestamptz_ops": "timestamp",
	"bytea_ops": "bytes", "uuid_ops": "uuid",
}

// kind of the types that an operator class takes.
func kind(f arrow.Field) string {
	switch id := f.Type.ID(); {
	case arrow.IsInteger(id):
		return "integer"
	case arrow.IsFloating(id):
		return "float"
	case id == arrow.STRING || id == arrow.LARGE_STRING || id == arrow.STRING_VIEW:
		return "text"
	case arrow.IsDecimal(id):
		return "numeric"
	case id == arrow.FIXED_SIZE_BINARY:
		return "uuid"
	case id == arrow.BINARY || id == arrow.LARGE_BINARY || id == arrow.BINARY_VIEW:
		return "bytes"
	case id == arrow.BOOL:
		return "boolean"
	case id == arrow.DATE32:
		return "date"
	case id == arrow.TIME32 || id == arrow.TIME64:
		return "time"
	case id == arrow.TIMESTAMP:
		return "timestamp"
	}
	return ""
}

// fits is an error unless rows can be found by a column.
func fits(f arrow.Field, class, words string) *sqlerror.Error {
	if ingest.CanHash(f) != nil {
		return sqlerror.New("0A000", "%s of column %q is not supported: its type is %s",
			words, f.Name, columntype.Shown(f))
	}
	if class == "" {
		return nil
	}
	takes, known := classes[class]
	if !known {
		return sqlerror.New("42704", "operator class %q does not exist for access method \"btree\"", class)
	}
	if takes != kind(f) {
		return sqlerror.New("42804", "operator class %q does not accept the type of column %q", class, f.Name)
	}
	return nil
}
