package alteration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/dependency"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/engine/index"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/viewtext"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Host is the session that alters.
type Host struct {
	// Definitions and Views are those of a statement that sees v.
	Definitions func(v *snapshot.View) *definition.Reader
	Views       func(v *snapshot.View) *viewtext.Writer
	// Seeing is a view of what the transaction has made; the caller releases it.
	Seeing func(contents *catalog.Contents) *snapshot.View
	// Plan gives the columns of a query in v.
	Plan func(ctx context.Context, v *snapshot.View, text string) (*arrow.Schema, error)
	// Each runs a query in v.
	Each func(ctx context.Context, v *snapshot.View, text string, each func(arrow.RecordBatch) error) error
	// Write puts the rows of a query in v behind those of a table, which the transaction sees.
	Write func(ctx context.Context, v *snapshot.View, text string, to catalog.TableName) error
	// Drop takes objects away, what depends first.
	Drop func(list []dependency.Object) error
	// Whole is an error if rows of a version have a key twice that an older declaration has not.
	Whole func(ctx context.Context, version *catalog.TableVersion, table, older catalog.Table) error
	// Order sorts the rows that are there by the columns of keys and indexes.
	Order func(ctx context.Context, tx *catalog.Transaction, name catalog.TableName) error
	// Sequences are those of the transaction.
	Sequences *sequence.Changes
	// Notice sends the client a notice.
	Notice func(message, detail string)
}

// column of the table as it is to be.
type column struct {
	arrow.Field
	was   string      // its name before; empty: it is added
	value arrow.Array // of one that is added: what rows that are there have; nil: NULL, or expression says
	// expression gives its value of a row of the table before; empty: it is as it was, or value.
	expression string
	constant   string // of one that is added, what gives value
	retyped    bool
}

// alteration is one ALTER TABLE under way.
type alteration struct {
	Host
	tx      *catalog.Transaction
	v       *snapshot.View // before
	version *catalog.TableVersion
	table   catalog.Table
	columns []column
	dropped []string // that are gone, with
	cascade map[string]bool
	losses  []loss
	renamed [2]string // from, to
	schema  *arrow.Schema
	checks  []constraint.Constraint
	keys    []statement.Constraint // that are added
	types   *definition.Reader
	made    []*sequence.Made // for columns that are added
}

// passes are the order in which PostgreSQL does what one statement says.
var passes = []statement.ActionKind{
	statement.DropColumn, statement.RemoveConstraint, statement.DropIdentity, statement.DropExpression,
	statement.SetType, statement.AddColumn,
	statement.SetDefault, statement.DropDefault, statement.DropNotNull, statement.SetNotNull, statement.AddIdentity,
	statement.SetIdentity, statement.AddKey, statement.RenameColumn,
}

// Alter does what an ALTER TABLE says, in a transaction whose contents v shows.
func Alter(ctx context.Context, h Host, tx *catalog.Transaction, v *snapshot.View, version *catalog.TableVersion,
	head *statement.AlterTable) error {
	a := &alteration{
		Host: h, tx: tx, v: v, version: version, table: version.Table(), schema: version.Table().Columns,
		cascade: map[string]bool{}, types: h.Definitions(v),
	}
	for _, f := range a.schema.Fields() {
		a.columns = append(a.columns, column{Field: f, was: f.Name})
	}
	var err error
	if a.checks, err = constraint.Of(a.schema); err != nil {
		return err
	}
	if err := ofMaterialized(a.table, head); err != nil {
		return err
	}
	if first := head.Actions[0]; first.Kind == statement.RestoreTo {
		return a.restore(ctx, first)
	}
	actions := slices.Clone(head.Actions)
	slices.SortStableFunc(actions, func(x, y statement.Action) int {
		return slices.Index(passes, x.Kind) - slices.Index(passes, y.Kind)
	})
	for _, action := range actions {
		if err := a.do(ctx, action); err != nil {
			if e, ok := err.(*sqlerror.Error); ok && e.At == 0 && action.At > 0 {
				e.At = action.At
			}
			return err
		}
	}
	return a.finish(ctx)
}

// at is the place of a column; what is not there is 42703.
func (a *alteration) at(name string) (int, error) {
	for i := range a.columns {
		if strings.EqualFold(a.columns[i].Name, name) {
			return i, nil
		}
	}
	return -1, sqlerror.New("42703", "column %q of relation %q does not exist", name, a.table.Name.Name)
}

func (a *alteration) do(ctx context.Context, action statement.Action) error {
	switch action.Kind {
	case statement.AddColumn:
		return a.add(ctx, action)
	case statement.AddKey:
		a.keys = append(a.keys, action.Constraints...)
		return nil
	case statement.RemoveConstraint:
		return a.removeConstraint(action)
	}
	i, err := a.at(action.Column)
	if err != nil {
		if action.Kind == statement.DropColumn && action.Exists {
			a.Notice(fmt.Sprintf("column %q of relation %q does not exist, skipping", action.Column,
				a.table.Name.Name), "")
			return nil
		}
		return err
	}
	c := &a.columns[i]
	switch action.Kind {
	case statement.DropColumn:
		return a.drop(i, action.Cascade)
	case statement.RenameColumn:
		return a.rename(i, action.To)
	case statement.SetType:
		return a.setType(ctx, c, action)
	case statement.DropExpression:
		return a.dropExpression(c, action.Exists)
	case statement.AddIdentity, statement.SetIdentity, statement.DropIdentity:
		return a.identity(ctx, c, action)
	case statement.SetDefault, statement.DropDefault, statement.DropNotNull:
		if cast.Identity(c.Field) != "" {
			return a.notOfIdentity(c, action.Kind)
		}
		if cast.Generated(c.Field) != "" && action.Kind != statement.DropNotNull {
			return a.notOfGenerated(c, action.Kind)
		}
	}
	switch action.Kind {
	case statement.SetDefault:
		c.Field, err = a.withDefault(c.Field, action.Default)
		return err
	case statement.DropDefault:
		c.Field = definition.WithoutDefault(c.Field)
		if text := constraint.DomainDefault(c.Field); text != "" { // which it has then
			c.Field.Metadata = mark.With(c.Field.Metadata, cast.DefaultKey, text)
		}
	case statement.SetNotNull:
		c.Nullable = false
	case statement.DropNotNull:
		return a.dropNotNull(c)
	}
	return nil
}

func (a *alteration) withDefault(f arrow.Field, expression string) (arrow.Field, error) {
	name, err := columntype.SQL(f)
	if err != nil {
		return f, err
	}
	return a.types.WithDefault(f, statement.Column{Name: f.Name, Default: expression}, name)
}

func (a *alteration) dropNotNull(c *column) error {
	for _, k := range a.checks {
		if k.Kind == constraint.PrimaryKey && slices.Contains(k.Columns, c.Name) {
			return sqlerror.New("42P16", "column %q is in a primary key", c.Name)
		}
	}
	c.Nullable = true
	return nil
}

func (a *alteration) removeConstraint(action statement.Action) error {
	at := slices.IndexFunc(a.checks, func(k constraint.Constraint) bool {
		return k.Name == action.Constraint && !k.IsIndex() && k.Domain == 0
	})
	switch {
	case at >= 0:
		return a.removeKey(at, action.Cascade)
	case action.Exists:
		a.Notice(fmt.Sprintf("constraint %q of relation %q does not exist, skipping", action.Constraint,
			a.table.Name.Name), "")
	default:
		return sqlerror.New("42704", "constraint %q of relation %q does not exist", action.Constraint,
			a.table.Name.Name)
	}
	return nil
}

// removeKey takes a constraint away, and with CASCADE the table's own foreign keys that need it.
func (a *alteration) removeKey(at int, cascade bool) (err error) {
	gone := a.checks[at]
	a.checks = slices.Delete(a.checks, at, at+1)
	another := func(k constraint.Constraint) bool { return k.Unique() && sameSet(k.Columns, gone.Columns) }
	if !gone.Unique() || slices.ContainsFunc(a.checks, another) {
		return nil
	}
	a.loseKey(gone, cascade)
	a.checks = slices.DeleteFunc(a.checks, func(k constraint.Constraint) bool {
		if err != nil || k.Kind != constraint.ForeignKey || k.References != 0 {
			return false
		}
		stays, wrong := a.references(a.table.Name, &k)
		err = wrong
		return !stays
	})
	return err
}

func (a *alteration) drop(i int, cascade bool) error {
	if gone, err := a.dropGenerated(i, cascade); gone || err != nil {
		return err
	}
	c := a.columns[i]
	if len(a.columns) == 1 {
		return sqlerror.New("0A000", "column %q is the last one of table %q: a table needs at least one column",
			c.Name, a.table.Name.Name).WithHint("Drop the table, or add a column first.")
	}
	p, err := placement.Parse(a.table.Placement)
	if err != nil {
		return err
	}
	if slices.Contains(p.Columns, c.Name) {
		return sqlerror.New("2BP01", "cannot drop column %s of table %s because its placement depends on it", c.Name,
			a.table.Name.Name).
			WithHint("The table is placed by " + p.String() + ". ALTER TABLE … SET PLACEMENT comes first.")
	}
	a.columns = slices.Delete(a.columns, i, i+1)
	a.dropped = append(a.dropped, c.was)
	a.cascade[c.was] = cascade
	a.loseColumn(c.was, cascade)
	return nil
}

func (a *alteration) rename(i int, to string) error {
	if at, err := a.at(to); err == nil && (at != i || a.columns[i].Name == to) {
		return sqlerror.New("42701", "column %q of relation %q already exists", to, a.table.Name.Name)
	}
	if err := a.renameGenerated(a.columns[i].Name, to); err != nil {
		return err
	}
	a.renamed = [2]string{a.columns[i].Name, to}
	a.columns[i].Name = to
	return nil
}

// finish puts together what the columns became, and holds the rows that are there to it.
func (a *alteration) finish(ctx context.Context) error {
	before, err := constraint.Of(a.table.Columns)
	if err != nil {
		return err
	}
	if err := a.constraints(); err != nil {
		return err
	}
	columns, err := a.declare()
	if err != nil {
		return err
	}
	dependents, err := a.dependents(ctx)
	if err != nil {
		return err
	}
	if columns, err = a.addKeys(columns); err != nil {
		return err
	}
	if err := a.commit(ctx, columns); err != nil {
		return err
	}
	if err := a.others(); err != nil {
		return err
	}
	if err := a.sequences(); err != nil {
		return err
	}
	if err := a.followViews(ctx, dependents); err != nil {
		return err
	}
	if err := a.holds(ctx, columns, before); err != nil {
		return err
	}
	return a.order(ctx, columns, before)
}

// order sorts the rows that are there if they are to be found by other columns than before.
func (a *alteration) order(ctx context.Context, columns *arrow.Schema, before []constraint.Constraint) error {
	after, err := constraint.Of(columns)
	if err != nil {
		return err
	}
	known := constraint.Sorted(before)
	for _, names := range constraint.Sorted(after) {
		for _, name := range names {
			if f := columns.Field(ingest.Index(columns, name)); ingest.CanHash(f) != nil {
				return sqlerror.New("0A000", "column %q of an index cannot be of type %s", name, f.Type).
					WithHint("Drop the index first.")
			}
		}
		if !slices.ContainsFunc(known, func(list []string) bool { return slices.Equal(list, names) }) {
			return a.Order(ctx, a.tx, a.table.Name)
		}
	}
	return nil
}

// addKeys gives the columns the constraints that are added.
func (a *alteration) addKeys(columns *arrow.Schema) (*arrow.Schema, error) {
	columns, err := constraint.Mark(columns, a.checks)
	made := func(c column) bool { _, of := constraint.DomainOf(c.Field); return c.was == "" && of }
	if err != nil || len(a.keys) == 0 && !slices.ContainsFunc(a.columns, made) {
		return columns, err
	}
	return a.types.Constrained(a.table.Name, columns, a.keys)
}

// declare numbers the columns.
func (a *alteration) declare() (columns *arrow.Schema, err error) {
	columns = a.table.Columns
	for _, name := range a.dropped {
		if columns, err = hugetable.DropColumn(columns, ingest.Index(columns, name)); err != nil {
			return nil, err
		}
	}
	for _, c := range a.columns {
		if c.was == "" {
			if columns, err = hugetable.AddColumn(columns, c.Field, c.value); err != nil {
				return nil, err
			}
			continue
		}
		if c.was != c.Name {
			if columns, err = hugetable.RenameColumn(columns, ingest.Index(columns, c.was), c.Name); err != nil {
				return nil, err
			}
		}
	}
	fields, meta := columns.Fields(), columns.Metadata() // those that stay come first, in their order
	for i, c := range a.columns {
		if c.was != "" {
			fields[i] = c.Field
		}
	}
	return arrow.NewSchema(fields, &meta), nil
}

// renumbers reports whether chunks of the table before have other columns than the table.
func (a *alteration) renumbers() bool {
	return len(a.dropped) > 0 || slices.ContainsFunc(a.columns, func(c column) bool { return c.was != c.Name })
}

// retypes reports whether a column gets another type.
func (a *alteration) retypes() bool {
	return slices.ContainsFunc(a.columns, func(c column) bool { return c.retyped })
}

// rewrites reports whether the rows have to pass through DuckDB.
func (a *alteration) rewrites() bool {
	return slices.ContainsFunc(a.columns, func(c column) bool { return c.expression != "" })
}

// commit gives the table its columns, in the transaction.
func (a *alteration) commit(ctx context.Context, columns *arrow.Schema) error {
	name := a.table.Name
	a.tx.Reads(definition.Sequences(a.tx.Contents(), columns)...)
	a.tx.Reads(namedtype.Uses(a.tx.Contents(), columns)...)
	if err := function.Hold(a.tx, columns); err != nil {
		return err
	}
	if !a.rewrites() {
		if !a.renumbers() {
			return a.tx.Redeclare(name, columns)
		}
		return a.tx.Alter(name, columns)
	}
	if err := a.tx.Truncate(name); err != nil {
		return err
	}
	if !hugetable.Numbered(columns) {
		var err error
		if columns, err = hugetable.RenameColumn(columns, 0, columns.Field(0).Name); err != nil { // gives them numbers
			return err
		}
	}
	if err := a.tx.Alter(name, columns); err != nil {
		return err
	}
	defer a.Seeing(a.tx.Contents()).Release() // nextval is asked of the sequences that there are now
	return a.Write(ctx, a.v, a.rowsText(), name)
}

// rowsText is the query of the rows that are rewritten.
func (a *alteration) rowsText() string {
	list := make([]string, len(a.columns))
	for i, c := range a.columns {
		value := c.expression
		switch {
		case value == "" && c.was == "":
			value = c.constant
		case value == "":
			value = duckdb.QuoteIdentifier(c.was)
		}
		list[i] = value + " AS " + duckdb.QuoteIdentifier(c.Name)
	}
	name := a.table.Name
	return "SELECT " + strings.Join(list, ", ") + " FROM " + duckdb.QuoteIdentifier(name.Schema) + "." +
		duckdb.QuoteIdentifier(name.Name) + " AS " + duckdb.QuoteIdentifier(name.Name)
}

// holds is an error if rows that are there are not what the table says now and did not say before.
func (a *alteration) holds(ctx context.Context, columns *arrow.Schema, before []constraint.Constraint) error {
	version, ok := a.tx.Contents().Table(a.table.Name)
	if !ok || version.Rows() == 0 || a.rewrites() { // rewritten rows are checked as added ones are
		return nil
	}
	if err := a.Whole(ctx, version, version.Table(), a.table); err != nil {
		return err
	}
	var list []definition.Promise
	for i, f := range columns.Fields() {
		was := a.columns[i].was
		if f.Nullable || was != "" && !a.table.Columns.Field(ingest.Index(a.table.Columns, was)).Nullable {
			continue
		}
		if version.Statistics(i).NullCount != 0 {
			list = append(list, definition.NoNulls(a.table.Name, f.Name))
		}
	}
	after, err := constraint.Of(columns)
	if err != nil {
		return err
	}
	for _, k := range after {
		known := slices.ContainsFunc(before, func(o constraint.Constraint) bool { return o.Name == k.Name })
		if k.Kind == constraint.Check && !known {
			list = append(list, definition.Passes(a.table.Name, k))
		}
	}
	if len(list) == 0 {
		return nil
	}
	v, name := a.Seeing(a.tx.Contents()), a.table.Name
	defer v.Release()
	for _, p := range list {
		text := "SELECT 1 AS found FROM " + duckdb.QuoteIdentifier(name.Schema) + "." +
			duckdb.QuoteIdentifier(name.Name) + " AS " + duckdb.QuoteIdentifier(p.Alias) +
			" WHERE " + p.Broken + " LIMIT 1"
		found := false
		err := a.Each(ctx, v, text, func(batch arrow.RecordBatch) error {
			found = found || batch.NumRows() > 0
			return nil
		})
		if err != nil {
			return err
		}
		if found {
			return p.Err
		}
	}
	return nil
}

// SetSchema is ALTER TABLE … SET SCHEMA; follow has views call the table by its new name.
func SetSchema(h Host, tx *catalog.Transaction, v *snapshot.View, table catalog.Table, schema string,
	follow func(from, to catalog.TableName) error) error {
	from := table.Name
	to, err := v.Qualify(statement.Name{Schema: schema, Name: from.Name})
	if err != nil || from == to { // it is there
		return err
	}
	if err := index.Follow(tx.Contents(), table, to.Schema); err != nil {
		return err
	}
	if err := tx.RenameTable(from, to); err != nil {
		return err
	}
	if err := h.Sequences.Follow(table.ID, to.Schema); err != nil {
		return err
	}
	return follow(from, to)
}
