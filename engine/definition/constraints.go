package definition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/check"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Reader reads definitions for one statement.
type Reader struct {
	Conn   *duckdb.Connection // on which nothing streams
	Checks *check.Checker
	View   *snapshot.View
}

// Constrained gives a table's schema further constraints. The columns of a primary key become NOT NULL.
func (r *Reader) Constrained(name catalog.TableName, schema *arrow.Schema,
	written []statement.Constraint) (*arrow.Schema, error) {
	have, err := constraint.Of(schema)
	if err != nil {
		return nil, err
	}
	list := slices.Clone(have)
	written = slices.Clone(written)
	slices.SortStableFunc(written, func(a, b statement.Constraint) int { // foreign keys may be to keys beside them
		return last(a) - last(b)
	})
	for _, w := range written {
		if w.UsingIndex != "" {
			if err := r.using(name, list, w); err != nil {
				return nil, err
			}
			continue
		}
		k, err := r.constraint(name, schema, list, w)
		if err != nil {
			e, ok := err.(*sqlerror.Error)
			if ok && e.At == 0 {
				e.At = w.At
			}
			return nil, err
		}
		list = append(list, k)
	}
	for i := len(have); i < len(list); i++ {
		if list[i], err = r.Named(name, list[i], list, have); err != nil {
			return nil, err
		}
	}
	if list, err = namedtype.WithDomains(r.View.Contents, name.Name, schema, list); err != nil {
		return nil, err
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

// Named gives a constraint that is new in a list a name: none of the list's, and that of a key, which has an index, or
// of an index is that of no relation of the schema. have are the constraints that the table had.
func (r *Reader) Named(table catalog.TableName, k constraint.Constraint, list,
	have []constraint.Constraint) (constraint.Constraint, error) {
	var failed error
	taken := func(name string) bool {
		if slices.ContainsFunc(list, func(o constraint.Constraint) bool { return o.Name == name }) {
			return true
		}
		is := false
		if (k.Unique() || k.IsIndex()) && failed == nil {
			is, failed = r.taken(table, name)
		}
		return is && failed == nil
	}
	if k.Name != "" && k.Unique() {
		failed = r.free(table, k.Name)
	}
	k = k.NamedBeside(table.Name, taken)
	return k.Identified(have), failed
}

// free is an error if taken is true.
func (r *Reader) free(table catalog.TableName, name string) error {
	is, err := r.taken(table, name)
	if is {
		return sqlerror.New("42P07", "relation %q already exists", name)
	}
	return err
}

// using makes a key of a unique index of the table, which is in a list.
func (r *Reader) using(table catalog.TableName, list []constraint.Constraint, w statement.Constraint) error {
	at := slices.IndexFunc(list, func(o constraint.Constraint) bool { return o.Name == w.UsingIndex && o.HasIndex() })
	if at < 0 {
		return sqlerror.New("42704", "index %q does not exist", w.UsingIndex)
	}
	k := list[at]
	unfit := sqlerror.New("42809", "%q is not a unique index", k.Name)
	unfit.DetailText = "Cannot create a primary key or unique constraint using such an index."
	switch {
	case !k.IsIndex():
		return sqlerror.New("55000", "index %q is already associated with a constraint", k.Name)
	case !k.Unique():
		return unfit
	case slices.ContainsFunc(k.Orders, func(order string) bool { return order != "" }), len(k.Classes) > 0:
		unfit.Message = fmt.Sprintf("index %q has a column that is not in default order", k.Name)
		return unfit
	case w.Deferred:
		return sqlerror.New("0A000", "%s … INITIALLY DEFERRED is not supported", k.Words())
	}
	if w.Name != "" && w.Name != k.Name {
		if slices.ContainsFunc(list, func(o constraint.Constraint) bool { return o.Name == w.Name }) {
			return sqlerror.New("42710", "constraint %q for relation %q already exists", w.Name, table.Name)
		}
		if err := r.free(table, w.Name); err != nil {
			return err
		}
		k.Born, k.Name = k.FirstName(), w.Name
	}
	if w.Kind == statement.PrimaryKey {
		if err := onlyPrimaryKey(table, list); err != nil {
			return err
		}
		k.Kind = constraint.PrimaryKey
	}
	k.Index, k.Deferrable = false, w.Deferrable
	k.IndexComment, k.Comment = k.Comment, ""
	list[at] = k
	return nil
}

// onlyPrimaryKey is an error if a table has a primary key.
func onlyPrimaryKey(table catalog.TableName, list []constraint.Constraint) error {
	if slices.ContainsFunc(list, func(o constraint.Constraint) bool { return o.Kind == constraint.PrimaryKey }) {
		return sqlerror.New("42P16", "multiple primary keys for table %q are not allowed", table.Name)
	}
	return nil
}

// taken reports whether a relation of a table's schema has a name. Keys of a table that is called as this one do not
// count: it is this table, or goes.
func (r *Reader) taken(table catalog.TableName, name string) (bool, error) {
	full := catalog.TableName{Schema: table.Schema, Name: name}
	if full == table {
		return true, nil
	}
	at, err := constraint.IndexNamed(r.View.Contents, full)
	if err != nil || at != nil && at.Table.Table().Name != table {
		return err == nil, err
	}
	_, isTable := r.View.Contents.Table(full)
	_, isView := r.View.Contents.View(full)
	return isTable || isView, nil
}

// last is 1 of what is looked at behind the other constraints.
func last(w statement.Constraint) int {
	if w.Kind == statement.ForeignKey {
		return 1
	}
	return 0
}

// constraint looks for what a constraint names. others are the table's.
func (r *Reader) constraint(table catalog.TableName, schema *arrow.Schema, others []constraint.Constraint,
	w statement.Constraint) (constraint.Constraint, error) {
	k := constraint.Constraint{
		Name: w.Name, Match: w.Match, OnDelete: w.OnDelete, OnUpdate: w.OnUpdate,
		Deferrable: w.Deferrable, Deferred: w.Deferred, NullsNotDistinct: w.NullsNotDistinct, NoInherit: w.NoInherit,
	}
	at := slices.IndexFunc(others, func(o constraint.Constraint) bool { return o.Name == w.Name })
	if w.Name != "" && at >= 0 {
		if others[at].IsIndex() {
			return k, sqlerror.New("42P07", "relation %q already exists", w.Name)
		}
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
		var err error
		if k.Expression, err = r.labels(schema, w.Expression); err != nil {
			return k, err
		}
		k.Columns = columnsRead(w.Expression, schema)
		if w.NotChecked {
			return k, sqlerror.New("0A000", "CHECK … NOT VALID is not supported").
				WithHint("Mend the rows that are there first, and leave NOT VALID out.")
		}
		return k, r.Checks.Expression(schema, k, r.TypesOf())
	case statement.PrimaryKey:
		k.Kind = constraint.PrimaryKey
		if err := onlyPrimaryKey(table, others); err != nil {
			return k, err
		}
	case statement.Unique:
		k.Kind = constraint.Unique
	case statement.ForeignKey:
		k.Kind = constraint.ForeignKey
		return r.reference(table, schema, others, k, w)
	}
	k.Held = true
	return k, keepable(k, schema)
}

// keepable is an error if rows cannot be held to a key.
func keepable(k constraint.Constraint, schema *arrow.Schema) error {
	if k.Deferred {
		return sqlerror.New("0A000", "%s … INITIALLY DEFERRED is not supported", k.Words()).
			WithHint("Keys are checked at the end of each statement.")
	}
	for _, name := range k.Columns {
		if f := schema.Field(ingest.Index(schema, name)); ingest.CanHash(f) != nil {
			return sqlerror.New("0A000", "%s of column %q is not supported: its type is %s",
				k.Words(), f.Name, columntype.Shown(f))
		}
	}
	return nil
}

// reference finds the table and the columns that a foreign key names.
func (r *Reader) reference(table catalog.TableName, schema *arrow.Schema, others []constraint.Constraint,
	k constraint.Constraint, w statement.Constraint) (constraint.Constraint, error) {
	child := schema
	version, err := r.View.Stored(w.References)
	if err == nil && materialized.Is(version.Table()) {
		err = sqlerror.New("42809", "referenced relation %q is not a table", w.References.Name)
	}
	unqualified := w.References.Schema == "" && (version == nil || version.Table().Name == table)
	own := w.References.Name == table.Name && (w.References.Schema == table.Schema || unqualified)
	to := table
	switch {
	case own:
	case err == snapshot.ErrTemporary:
		return k, sqlerror.New("42P16", "constraints on permanent tables may reference only permanent tables")
	case err != nil:
		if e, ok := err.(*sqlerror.Error); ok {
			e.At = w.References.At
		}
		return k, err
	default:
		to = version.Table().Name
		k.References, k.ReferencesSchema, k.ReferencesTable = uint64(version.Table().ID), to.Schema, to.Name
		schema = version.Table().Columns
		if others, err = constraint.Of(schema); err != nil {
			return k, err
		}
	}
	columns := w.ReferencedColumns
	if columns == nil {
		at := slices.IndexFunc(others, func(o constraint.Constraint) bool { return o.Kind == constraint.PrimaryKey })
		if at < 0 {
			return k, sqlerror.New("42704", "there is no primary key for referenced table %q", w.References.Name).
				WithHint("Name the columns: REFERENCES " + w.References.Name + " (…).")
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
	k.Held = true
	k = k.Named(table.Name, others)
	return k, referable(k, child, schema, others, to.Name, w)
}

// referable is an error if rows cannot be held to a foreign key. others are the parent's constraints.
func referable(k constraint.Constraint, child, parent *arrow.Schema, others []constraint.Constraint, to string,
	w statement.Constraint) error {
	if w.NotChecked {
		return sqlerror.New("0A000", "FOREIGN KEY … NOT VALID is not supported").
			WithHint("Mend the rows that are there first, and leave NOT VALID out.")
	}
	for _, action := range [][2]string{{"DELETE", k.OnDelete}, {"UPDATE", k.OnUpdate}} {
		follows := action[0] == "DELETE" && (action[1] == "CASCADE" || action[1] == "SET NULL")
		if a := action[1]; a != "" && a != "NO ACTION" && a != "RESTRICT" && !follows {
			return sqlerror.New("0A000", "FOREIGN KEY … ON %s %s is not supported", action[0], a).
				WithHint("Leave it out, and change the rows that refer to others first.")
		}
	}
	if err := keepable(k, child); err != nil {
		return err
	}
	at := slices.IndexFunc(others, func(o constraint.Constraint) bool {
		return o.Unique() && o.Held && sameColumns(o.Columns, k.ReferencedColumns)
	})
	switch {
	case at < 0:
		return sqlerror.New("42830", "there is no unique constraint matching given keys for referenced table %q", to)
	case others[at].Deferrable:
		return sqlerror.New("55000", "cannot use a deferrable unique constraint for referenced table %q", to)
	}
	return Comparable(k, child, parent)
}

func sameColumns(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, slices.Compact(b))
}

// Comparable is an error if a column of a foreign key cannot be compared with the one that it refers to.
func Comparable(k constraint.Constraint, child, parent *arrow.Schema) error {
	for i, name := range k.Columns {
		from := child.Field(ingest.Index(child, name))
		to := parent.Field(ingest.Index(parent, k.ReferencedColumns[i]))
		if x, y := kindOf(from), kindOf(to); x != y || x == "" && !arrow.TypeEqual(from.Type, to.Type) {
			e := sqlerror.New("42804", "foreign key constraint %q cannot be implemented", k.Name)
			e.DetailText = fmt.Sprintf("Key columns %q and %q are of incompatible types: %s and %s.", from.Name,
				to.Name, typeName(from), typeName(to))
			return e
		}
	}
	return nil
}

// kindOf is the same of types whose equal values have equal digests (package key); empty: those of one type have.
func kindOf(f arrow.Field) string {
	switch id := f.Type.ID(); {
	case id == arrow.UINT64:
		return ""
	case arrow.IsInteger(id):
		return "integer"
	case arrow.IsFloating(id):
		return "float"
	case id == arrow.STRING || id == arrow.LARGE_STRING || id == arrow.STRING_VIEW:
		return "text"
	}
	return ""
}

// typeName is a type as PostgreSQL calls it.
func typeName(f arrow.Field) string {
	name, err := columntype.SQL(f)
	if err != nil {
		return f.Type.String()
	}
	base, _, _ := strings.Cut(name, "(")
	if postgres, ok := map[string]string{
		"VARCHAR": "text", "DOUBLE": "double precision", "FLOAT": "real", "DECIMAL": "numeric", "BLOB": "bytea",
		"TIMESTAMP": "timestamp without time zone", "TIME": "time without time zone",
	}[base]; ok {
		return postgres
	}
	return strings.ToLower(name)
}

// columnsRead are the columns that an expression names, as far as PostgreSQL's parser knows: a check gets its name from
// the one that it reads.
func columnsRead(expression string, schema *arrow.Schema) (names []string) {
	tree := dialect.TreeOf("SELECT (" + calling.Shown(expression) + "\n)")
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

// Reference is a foreign key of a table to one that goes.
type Reference struct {
	From       catalog.TableName
	Constraint string
	To         catalog.TableName
}

// ReferencesTo lists the foreign keys to some tables, except those of these tables themselves.
func ReferencesTo(contents *catalog.Contents, going []catalog.TableName) (list []Reference, err error) {
	names := map[uint64]catalog.TableName{}
	for _, name := range going {
		if version, ok := contents.Table(name); ok {
			names[uint64(version.Table().ID)] = name
		}
	}
	from := map[catalog.TableID]*catalog.TableVersion{}
	for id := range names {
		for _, t := range contents.Mentioning(mention.Mention{Kind: mention.Reference, Number: id}) {
			from[t.Table().ID] = t
		}
	}
	for _, t := range from {
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
				list = append(list, Reference{table.Name, k.Name, to})
			}
		}
	}
	slices.SortFunc(list, func(a, b Reference) int {
		return cmp.Or(strings.Compare(a.From.String(), b.From.String()), strings.Compare(a.Constraint, b.Constraint))
	})
	return list, nil
}

func (r Reference) String() string {
	return fmt.Sprintf("constraint %s on table %s", r.Constraint, r.From.Name)
}

// Referenced is the error about tables that foreign keys name.
func Referenced(list []Reference) error {
	e := sqlerror.New("2BP01", "cannot drop table %s because other objects depend on it", list[0].To.Name).
		WithHint("Use DROP … CASCADE to drop the dependent objects too.")
	for i, r := range list {
		if i > 0 {
			e.DetailText += "\n"
		}
		e.DetailText += r.String() + " depends on table " + r.To.Name
	}
	return e
}

// Promise is something that a schema says of each row of a table and that was not said before.
type Promise struct {
	Broken string // a condition that is true of rows that break it
	Alias  string // what the condition calls the table
	Err    *sqlerror.Error
}

// NoNulls is the promise that a column has none.
func NoNulls(table catalog.TableName, column string) Promise {
	e := sqlerror.New("23502", "column %q of relation %q contains null values", column, table.Name)
	e.Object = sqlerror.Object{Schema: table.Schema, Table: table.Name, Column: column}
	return Promise{duckdb.QuoteIdentifier(column) + " IS NULL", table.Name, e}
}

// Passes is the promise that rows pass a check.
func Passes(table catalog.TableName, k constraint.Constraint) Promise {
	e := sqlerror.New("23514", "check constraint %q of relation %q is violated by some row", k.Name, table.Name)
	e.Object = sqlerror.Object{Schema: table.Schema, Table: table.Name, Constraint: k.Name}
	if k.Domain != 0 {
		e = sqlerror.New(k.State, "%s", k.Says)
	}
	return Promise{"NOT (" + calling.Computes(k.Expression) + "\n)", k.Table, e}
}

// RefuseDeferring is an error if a constraint is to be checked at another time than it is.
func RefuseDeferring(contents *catalog.Contents, deferred bool) error {
	for _, version := range contents.Mentioning(mention.Mention{Kind: mention.Deferrable}) {
		list, err := constraint.Of(version.Table().Columns)
		if err != nil {
			return err
		}
		for _, k := range list {
			if k.Deferrable && k.Deferred != deferred {
				when := map[bool]string{true: "DEFERRED", false: "IMMEDIATE"}[deferred]
				return sqlerror.New("0A000", "SET CONSTRAINTS ALL %s is not supported: constraint %q of table %q is on record only",
					when, k.Name, version.Table().Name.Name).
					WithHint("It is not checked, neither at once nor at COMMIT. Leave SET CONSTRAINTS out, or drop the constraint.")
			}
		}
	}
	return nil
}
