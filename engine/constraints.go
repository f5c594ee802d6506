package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Constraints of CREATE TABLE and ALTER TABLE: what they name is looked for, what they are called is found, and they go on the table's record
// (package constraint). See check for those that rows are held to.

// constrained gives a table's schema further constraints. The columns of a primary key become NOT NULL.
func (s *Session) constrained(v *visible, name catalog.TableName, schema *arrow.Schema, written []statement.Constraint) (*arrow.Schema, error) {
	have, err := constraint.Of(schema)
	if err != nil {
		return nil, err
	}
	list := slices.Clone(have)
	for _, w := range written {
		k, err := s.readConstraint(v, name, schema, list, w)
		if err != nil {
			e, ok := err.(*Error)
			if ok && e.At == 0 {
				e.At = w.At
			}
			return nil, err
		}
		list = append(list, k)
	}
	for i, k := range list {
		list[i] = k.Named(name.Name, list)
	}
	fields := schema.Fields()
	for _, k := range list {
		if k.Kind == constraint.PrimaryKey {
			for _, c := range k.Columns {
				fields[ingest.Index(schema, c)].Nullable = false
			}
		}
	}
	meta := schema.Metadata()
	return constraint.Mark(arrow.NewSchema(fields, &meta), list)
}

// readConstraint looks for what a constraint names. others are the table's.
func (s *Session) readConstraint(v *visible, table catalog.TableName, schema *arrow.Schema, others []constraint.Constraint, w statement.Constraint) (constraint.Constraint, error) {
	k := constraint.Constraint{
		Name: w.Name, Match: w.Match, OnDelete: w.OnDelete, OnUpdate: w.OnUpdate, Deferrable: w.Deferrable, Deferred: w.Deferred,
		NullsNotDistinct: w.NullsNotDistinct, NoInherit: w.NoInherit,
	}
	if w.Name != "" && slices.ContainsFunc(others, func(o constraint.Constraint) bool { return o.Name == w.Name }) {
		return k, sqlerror.New("42710", "constraint %q for relation %q already exists", w.Name, table.Name)
	}
	for i, name := range w.Columns {
		at := ingest.Index(schema, name)
		if at < 0 {
			return k, sqlerror.New("42703", "column %q named in key does not exist", name)
		}
		if slices.Contains(k.Columns, schema.Field(at).Name) {
			e := sqlerror.New("42701", "column %q appears twice in %s constraint", name, w.Kind)
			e.At = w.ColumnsAt[i]
			return k, e
		}
		k.Columns = append(k.Columns, schema.Field(at).Name)
	}
	switch w.Kind {
	case statement.Check:
		k.Kind, k.Expression, k.Table = constraint.Check, w.Expression, table.Name
		k.Columns = columnsRead(w.Expression, schema)
		if w.NotChecked {
			return k, sqlerror.New("0A000", "CHECK … NOT VALID is not supported").WithHint("Mend the rows that are there first, and leave NOT VALID out.")
		}
		return k, s.engine.checks.Expression(schema, k)
	case statement.PrimaryKey:
		k.Kind = constraint.PrimaryKey
		if slices.ContainsFunc(others, func(o constraint.Constraint) bool { return o.Kind == constraint.PrimaryKey }) {
			return k, sqlerror.New("42P16", "multiple primary keys for table %q are not allowed", table.Name)
		}
	case statement.Unique:
		k.Kind = constraint.Unique
	case statement.ForeignKey:
		k.Kind = constraint.ForeignKey
		return s.readReference(v, table, schema, others, k, w)
	}
	return k, nil
}

// readReference finds the table and the columns that a foreign key names.
func (s *Session) readReference(v *visible, table catalog.TableName, schema *arrow.Schema, others []constraint.Constraint, k constraint.Constraint, w statement.Constraint) (constraint.Constraint, error) {
	version, err := s.target(v, w.References)
	own := w.References.Name == table.Name && (w.References.Schema == table.Schema || w.References.Schema == "" && (version == nil || version.Table().Name == table))
	switch {
	case own:
	case err == errTemporary:
		return k, sqlerror.New("42P16", "constraints on permanent tables may reference only permanent tables")
	case err != nil:
		if e, ok := err.(*Error); ok {
			e.At = w.References.At
		}
		return k, err
	default:
		k.References, schema = uint64(version.Table().ID), version.Table().Columns
		if others, err = constraint.Of(schema); err != nil {
			return k, err
		}
	}
	columns := w.ReferencedColumns
	if columns == nil {
		at := slices.IndexFunc(others, func(o constraint.Constraint) bool { return o.Kind == constraint.PrimaryKey })
		if at < 0 {
			return k, sqlerror.New("42704", "there is no primary key for referenced table %q", w.References.Name).WithHint("Name the columns: REFERENCES " + w.References.Name + " (…).")
		}
		columns = others[at].Columns
	}
	if len(columns) != len(k.Columns) {
		return k, sqlerror.New("42830", "number of referencing and referenced columns for foreign key disagree")
	}
	for _, c := range columns {
		at := ingest.Index(schema, c)
		if at < 0 {
			return k, sqlerror.New("42703", "column %q referenced in foreign key constraint does not exist", c)
		}
		k.ReferencedColumns = append(k.ReferencedColumns, schema.Field(at).Name)
	}
	return k, nil
}

// columnsRead are the columns that an expression names, as far as PostgreSQL's parser can tell: a check is called by the one that it reads.
func columnsRead(expression string, schema *arrow.Schema) (names []string) {
	tree := dialect.TreeOf("SELECT (" + expression + "\n)")
	if tree == nil {
		return nil
	}
	dialect.EachNode(tree.ProtoReflect(), func(node any) {
		c, ok := node.(*pg.ColumnRef)
		if !ok || len(c.Fields) == 0 {
			return
		}
		for _, f := range c.Fields { // a column, t.column, or column.field
			if at := ingest.Index(schema, f.GetString_().GetSval()); at >= 0 {
				if name := schema.Field(at).Name; !slices.Contains(names, name) {
					names = append(names, name)
				}
				return
			}
		}
	})
	return names
}

// warnOfKeys says which constraints are on record only.
func (s *Session) warnOfKeys(written []statement.Constraint) {
	for _, w := range written {
		if w.Kind == statement.Check {
			continue
		}
		what := w.Text
		if w.Column != "" {
			what += " on column " + w.Column
		}
		s.notice(Notice{Severity: "WARNING", State: "0A000", Message: what + " is not enforced", Hint: "It is on record as not validated; the table takes every row. NOT NULL, which a primary key means, and CHECK are enforced."})
	}
}

// addConstraint is ALTER TABLE … ADD. Rows that are there are held to a check, and to the NOT NULL of a primary key.
func (st *Statement) addConstraint(ctx context.Context, head *statement.AddConstraint) (*Rows, error) {
	s := st.session
	missing := false
	err := s.write(ctx, func(tx *catalog.Transaction, v *visible) error {
		version, err := s.target(v, head.Name)
		if missing = head.IfExists && isState(err, "42P01"); missing {
			return nil
		}
		if err == errTemporary {
			return sqlerror.New("0A000", "constraints of a temporary table cannot be added").WithHint("Write them into its CREATE TEMP TABLE.")
		}
		if err != nil {
			return st.pointAt(err, head.Name.Name)
		}
		table := version.Table()
		schema, err := s.constrained(v, table.Name, table.Columns, head.Constraints)
		if err != nil {
			return err
		}
		if err := s.holds(ctx, v, table, schema); err != nil {
			return err
		}
		return tx.Redeclare(table.Name, schema)
	})
	if err != nil {
		return nil, err
	}
	if missing {
		s.notice(Notice{Severity: "NOTICE", State: "00000", Message: fmt.Sprintf("relation %q does not exist, skipping", head.Name.String())})
		return done("ALTER TABLE", 0), nil
	}
	s.warnOfKeys(head.Constraints)
	return done("ALTER TABLE", 0), nil
}

func isState(err error, state string) bool {
	e, ok := err.(*Error)
	return ok && e.State == state
}

// holds is an error if rows of a table are not what a schema with further constraints says.
func (s *Session) holds(ctx context.Context, v *visible, table catalog.Table, schema *arrow.Schema) error {
	for i, f := range schema.Fields() {
		if f.Nullable || !table.Columns.Field(i).Nullable {
			continue
		}
		found, err := s.finds(ctx, v, table.Name, table.Name.Name, duckdb.QuoteIdentifier(f.Name)+" IS NULL")
		if err != nil {
			return err
		}
		if found {
			e := sqlerror.New("23502", "column %q of relation %q contains null values", f.Name, table.Name.Name)
			e.Object = sqlerror.Object{Schema: table.Name.Schema, Table: table.Name.Name, Column: f.Name}
			return e
		}
	}
	before, err := constraint.Of(table.Columns)
	if err != nil {
		return err
	}
	after, err := constraint.Of(schema)
	if err != nil {
		return err
	}
	for _, k := range after[len(before):] {
		if k.Kind != constraint.Check {
			continue
		}
		found, err := s.finds(ctx, v, table.Name, k.Table, "NOT ("+k.Expression+"\n)")
		if err != nil {
			return err
		}
		if found {
			e := sqlerror.New("23514", "check constraint %q of relation %q is violated by some row", k.Name, table.Name.Name)
			e.Object = sqlerror.Object{Schema: table.Name.Schema, Table: table.Name.Name, Constraint: k.Name}
			return e
		}
	}
	return nil
}

// finds tells whether a table has a row of which a condition is true. alias is what the condition calls the table.
func (s *Session) finds(ctx context.Context, v *visible, table catalog.TableName, alias, condition string) (bool, error) {
	text := "SELECT 1 AS found FROM " + duckdb.QuoteIdentifier(table.Schema) + "." + duckdb.QuoteIdentifier(table.Name) + " AS " + duckdb.QuoteIdentifier(alias) +
		" WHERE " + condition + " LIMIT 1"
	plan, err := s.planDuck(ctx, text, dialect.TreeOf(text), v)
	if err != nil {
		return false, dialect.WithoutPosition(err)
	}
	defer plan.close()
	rows, err := plan.execute(ctx, v, nil)
	if err != nil {
		return false, dialect.WithoutPosition(err)
	}
	defer rows.Close()
	found := false
	for {
		batch, err := rows.Next(ctx)
		if isEnd(err) {
			return found, nil
		}
		if err != nil {
			return false, dialect.WithoutPosition(err)
		}
		found = found || batch.NumRows() > 0
		batch.Release()
	}
}

// dropConstraint is ALTER TABLE … DROP CONSTRAINT.
func (st *Statement) dropConstraint(ctx context.Context, head *statement.DropConstraint) (*Rows, error) {
	s := st.session
	var skipped string
	err := s.write(ctx, func(tx *catalog.Transaction, v *visible) error {
		version, err := s.target(v, head.Name)
		if head.IfExists && isState(err, "42P01") {
			skipped = fmt.Sprintf("relation %q does not exist, skipping", head.Name.String())
			return nil
		}
		if err != nil {
			return st.pointAt(err, head.Name.Name)
		}
		table := version.Table()
		list, err := constraint.Of(table.Columns)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(list, func(k constraint.Constraint) bool { return k.Name == head.Constraint })
		if at < 0 && head.Missing {
			skipped = fmt.Sprintf("constraint %q of relation %q does not exist, skipping", head.Constraint, table.Name.Name)
			return nil
		}
		if at < 0 {
			return sqlerror.New("42704", "constraint %q of relation %q does not exist", head.Constraint, table.Name.Name)
		}
		schema, err := constraint.Mark(table.Columns, slices.Delete(list, at, at+1)) // NOT NULL stays, as in PostgreSQL
		if err != nil {
			return err
		}
		return tx.Redeclare(table.Name, schema)
	})
	if err == nil && skipped != "" {
		s.notice(Notice{Severity: "NOTICE", State: "00000", Message: skipped})
	}
	return done("ALTER TABLE", 0), err
}

// reference is a foreign key of a table to one that goes.
type reference struct {
	from       catalog.TableName
	constraint string
	to         catalog.TableName
}

// referencesTo lists the foreign keys to some tables, but for those of these tables themselves.
func referencesTo(contents *catalog.Contents, going []catalog.TableName) (list []reference, err error) {
	names := map[uint64]catalog.TableName{}
	for _, name := range going {
		if version, ok := contents.Table(name); ok {
			names[uint64(version.Table().ID)] = name
		}
	}
	for _, t := range contents.Tables() {
		table := t.Table()
		if _, goes := names[uint64(table.ID)]; goes {
			continue
		}
		constraints, err := constraint.Of(table.Columns)
		if err != nil {
			return nil, err
		}
		for _, k := range constraints {
			if to, ok := names[k.References]; ok && k.Kind == constraint.ForeignKey {
				list = append(list, reference{table.Name, k.Name, to})
			}
		}
	}
	slices.SortFunc(list, func(a, b reference) int {
		return cmp.Or(strings.Compare(a.from.String(), b.from.String()), strings.Compare(a.constraint, b.constraint))
	})
	return list, nil
}

func (r reference) String() string {
	return fmt.Sprintf("constraint %s on table %s", r.constraint, r.from.Name)
}

// refuseReferenced is the error about tables that foreign keys name.
func refuseReferenced(list []reference) error {
	e := sqlerror.New("2BP01", "cannot drop table %s because other objects depend on it", list[0].to.Name).WithHint("Use DROP … CASCADE to drop the dependent objects too.")
	for i, r := range list {
		if i > 0 {
			e.DetailText += "\n"
		}
		e.DetailText += r.String() + " depends on table " + r.to.Name
	}
	return e
}

// forgetReferences takes foreign keys off the record.
func (s *Session) forgetReferences(tx *catalog.Transaction, list []reference) error {
	for _, r := range list {
		version, ok := tx.Contents().Table(r.from)
		if !ok {
			continue
		}
		constraints, err := constraint.Of(version.Table().Columns)
		if err != nil {
			return err
		}
		constraints = slices.DeleteFunc(constraints, func(k constraint.Constraint) bool { return k.Name == r.constraint })
		schema, err := constraint.Mark(version.Table().Columns, constraints)
		if err != nil {
			return err
		}
		if err := tx.Redeclare(r.from, schema); err != nil {
			return err
		}
		s.notice(Notice{Severity: "NOTICE", State: "00000", Message: "drop cascades to " + r.String()})
	}
	return nil
}
