package sequence

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Changes are what a statement does to sequences, in its transaction.
type Changes struct {
	Tx       *catalog.Transaction
	View     *snapshot.View // of the statement
	Counters interface {
		NewCounter(ctx context.Context) (catalog.CounterID, error)
	}
	Keeper *Keeper
	Notice func(state, message string)
}

// now is the statement's view of what the transaction has made by now.
func (c *Changes) now() *snapshot.View {
	return &snapshot.View{Contents: c.Tx.Contents(), Path: c.View.Path, Own: c.View.Own, Reads: &lookup.Names{}}
}

// Create is CREATE SEQUENCE.
func (c *Changes) Create(ctx context.Context, head *statement.CreateSequence) error {
	name, err := c.View.Qualify(head.Name)
	if err != nil {
		return err
	}
	if c.taken(name) {
		if head.IfNotExists {
			c.Notice("42P07", fmt.Sprintf("relation %q already exists, skipping", name.Name))
			return nil
		}
		return sqlerror.New("42P07", "relation %q already exists", name.Name)
	}
	d, err := New(&head.Options)
	if err != nil {
		return err
	}
	if err := c.owned(&d, name, &head.Options); err != nil {
		return err
	}
	_, err = c.create(ctx, name, d)
	return err
}

func (c *Changes) taken(name catalog.TableName) bool {
	v := c.now()
	return v.Find(name.Schema, name.Name) != nil || v.HasView(name.Schema, name.Name)
}

func (c *Changes) create(ctx context.Context, name catalog.TableName, d Definition) (*catalog.View, error) {
	view, err := c.Tx.CreateView(ctx, name, "", nil)
	if err != nil {
		return nil, err
	}
	next := *view
	if next.Counter, err = c.Counters.NewCounter(ctx); err != nil {
		return nil, err
	}
	return c.put(&next, name, d)
}

// put gives a sequence its definition.
func (c *Changes) put(view *catalog.View, from catalog.TableName, d Definition) (*catalog.View, error) {
	next, err := with(view, d)
	if err != nil {
		return nil, err
	}
	return next, c.Tx.Redefine(from, next)
}

// owned takes what OWNED BY says.
func (c *Changes) owned(d *Definition, name catalog.TableName, o *statement.SequenceOptions) error {
	switch {
	case o.OwnedByNone:
		d.Owner, d.Column = 0, ""
	case o.OwnedBy != nil:
		table := statement.Name{Database: "", Schema: o.OwnedBy.Database, Name: o.OwnedBy.Schema}
		version, err := c.now().Target(table)
		if err == snapshot.ErrTemporary {
			return sqlerror.New("0A000", "a sequence cannot be owned by a temporary table")
		}
		if err != nil {
			return err
		}
		t := version.Table()
		if t.Name.Schema != name.Schema {
			return sqlerror.New("55000", "sequence must be in same schema as table it is linked to")
		}
		column := fieldOf(t.Columns, o.OwnedBy.Name)
		if column == "" {
			return sqlerror.New("42703", "column %q of relation %q does not exist", o.OwnedBy.Name, t.Name.Name)
		}
		d.Owner, d.Column = uint64(t.ID), column
	}
	return nil
}

// fieldOf is a column's name as the table has it, empty if it has none.
func fieldOf(columns *arrow.Schema, name string) string {
	for _, f := range columns.Fields() {
		if strings.EqualFold(f.Name, name) {
			return f.Name
		}
	}
	return ""
}

// Command is what a statement about sequences does, with its tag; nil: it is none.
func Command(head any) (tag string, do func(ctx context.Context, c *Changes) error) {
	switch head := head.(type) {
	case *statement.CreateSequence:
		return "CREATE SEQUENCE", func(ctx context.Context, c *Changes) error { return c.Create(ctx, head) }
	case *statement.AlterSequence:
		return "ALTER SEQUENCE", func(ctx context.Context, c *Changes) error { return c.Alter(ctx, head) }
	case *statement.Rename:
		if head.Object == statement.Sequence {
			return "ALTER SEQUENCE", func(_ context.Context, c *Changes) error {
				return c.Rename(head.Name, head.IfExists, catalog.TableName{Name: head.To})
			}
		}
	case *statement.SetSchema:
		if head.Object == statement.Sequence {
			return "ALTER SEQUENCE", func(_ context.Context, c *Changes) error {
				return c.Rename(head.Name, head.IfExists, catalog.TableName{Schema: head.Schema})
			}
		}
	}
	return "", nil
}

// find is a sequence that a statement names; nil: there is none, and it says IF EXISTS.
func (c *Changes) find(name statement.Name, ifExists bool) (*catalog.View, Definition, error) {
	view, d, err := Find(c.now(), name)
	if e, ok := err.(*sqlerror.Error); ok && e.State == "42P01" && ifExists {
		c.Notice("00000", fmt.Sprintf("relation %q does not exist, skipping", name.String()))
		return nil, d, nil
	}
	if e, ok := err.(*sqlerror.Error); ok {
		e.At = name.At
	}
	return view, d, err
}

// Alter is ALTER SEQUENCE with options.
func (c *Changes) Alter(ctx context.Context, head *statement.AlterSequence) error {
	view, d, err := c.find(head.Name, head.IfExists)
	if view == nil || err != nil {
		return err
	}
	if d.Identity && (head.Options.OwnedBy != nil || head.Options.OwnedByNone) {
		e := sqlerror.New("0A000", "cannot change ownership of identity sequence")
		e.DetailText = fmt.Sprintf("Sequence %q is linked to the table with its column %q.", view.Name.Name, d.Column)
		return e
	}
	return c.alter(ctx, view, d, &head.Options)
}

func (c *Changes) alter(ctx context.Context, view *catalog.View, d Definition, o *statement.SequenceOptions) error {
	last, _, err := c.Keeper.State(ctx, view.Counter, d)
	if err != nil {
		return err
	}
	next, restarts, err := d.altered(o, last)
	if err != nil {
		return err
	}
	if err := c.owned(&next, view.Name, o); err != nil {
		return err
	}
	changed := *view
	if restarts {
		if changed.Counter, err = c.Counters.NewCounter(ctx); err != nil {
			return err
		}
	}
	_, err = c.put(&changed, view.Name, next)
	return err
}

// Rename gives a sequence another name or schema; to has an empty part for one that stays.
func (c *Changes) Rename(name statement.Name, ifExists bool, to catalog.TableName) error {
	view, d, err := c.find(name, ifExists)
	if view == nil || err != nil {
		return err
	}
	if to.Schema == "" {
		to.Schema = view.Name.Schema
	} else if d.Owner != 0 {
		return sqlerror.New("0A000", "cannot move an owned sequence into another schema").
			WithHint("It goes with its table; ALTER SEQUENCE … OWNED BY NONE sets it free.")
	}
	if to.Name == "" {
		to.Name = view.Name.Name
	}
	if to == view.Name {
		return nil
	}
	if !c.Tx.Contents().HasSchema(to.Schema) {
		return sqlerror.New("3F000", "schema %q does not exist", to.Schema)
	}
	if c.taken(to) {
		return sqlerror.New("42P07", "relation %q already exists", to.Name)
	}
	next := *view
	next.Name = to
	d.Edition++
	_, err = c.put(&next, view.Name, d)
	return err
}

// Restart restarts the sequences that a table owns, if a TRUNCATE says RESTART IDENTITY.
func (c *Changes) Restart(ctx context.Context, head *statement.Truncate, table catalog.TableID) error {
	if !head.Restart {
		return nil
	}
	for _, view := range OwnedBy(c.Tx.Contents(), table, "") {
		d, _ := Of(view)
		if err := c.alter(ctx, view, d, &statement.SequenceOptions{RestartAtStart: true}); err != nil {
			return err
		}
	}
	return nil
}

// AlterOwned is ALTER SEQUENCE of that of an identity column.
func (c *Changes) AlterOwned(ctx context.Context, table catalog.TableID, column string,
	o *statement.SequenceOptions) error {
	for _, view := range OwnedBy(c.Tx.Contents(), table, column) {
		if d, _ := Of(view); d.Identity {
			return c.alter(ctx, view, d, o)
		}
	}
	return nil
}

// RenameColumn has the sequences of a column be those of another name.
func (c *Changes) RenameColumn(table catalog.TableID, from, to string) error {
	for _, view := range OwnedBy(c.Tx.Contents(), table, from) {
		d, _ := Of(view)
		d.Column = to
		d.Edition++
		if _, err := c.put(view, view.Name, d); err != nil {
			return err
		}
	}
	return nil
}

// Follow moves the sequences of a table with it into another schema.
func (c *Changes) Follow(table catalog.TableID, schema string) error {
	for _, view := range OwnedBy(c.Tx.Contents(), table, "") {
		d, _ := Of(view)
		next := *view
		if next.Name.Schema == schema {
			continue
		}
		if next.Name.Schema = schema; c.taken(next.Name) {
			return sqlerror.New("42P07", "relation %q already exists in schema %q", next.Name.Name, schema)
		}
		d.Edition++
		if _, err := c.put(&next, view.Name, d); err != nil {
			return err
		}
	}
	return nil
}

// serials are the words for columns that count, and what their types are.
var serials = map[string]string{
	"serial": "integer", "serial4": "integer", "bigserial": "bigint", "serial8": "bigint",
	"smallserial": "smallint", "serial2": "smallint",
}

// Counting reports whether a column makes its own values.
func Counting(c *statement.Column) bool {
	return c.Identity != nil || serials[strings.ToLower(c.Type)] != ""
}

// Made are the sequences of columns of a table that is not there yet.
type Made struct {
	changes *Changes
	list    []madeOne
}

type madeOne struct {
	view   *catalog.View
	column string
}

// Columns makes the sequences of serial and identity columns, whose types and defaults it writes as those of other
// columns. None is owned before Own.
func (c *Changes) Columns(ctx context.Context, table catalog.TableName, columns []statement.Column) (
	[]statement.Column, *Made, error) {
	made := &Made{changes: c}
	out := columns
	for i := range columns {
		if !Counting(&columns[i]) {
			continue
		}
		if len(made.list) == 0 {
			out = append([]statement.Column(nil), columns...)
		}
		one, err := c.column(ctx, table, &out[i])
		if err != nil {
			if e, ok := err.(*sqlerror.Error); ok && e.At == 0 {
				e.At = columns[i].At
			}
			return nil, nil, err
		}
		made.list = append(made.list, one)
	}
	return out, made, nil
}

// Table is Columns of a CREATE TABLE.
func (c *Changes) Table(ctx context.Context, name catalog.TableName, head *statement.CreateTable) (
	*statement.CreateTable, *Made, error) {
	with := *head
	var made *Made
	var err error
	with.Columns, made, err = c.Columns(ctx, name, head.Columns)
	return &with, made, err
}

func (c *Changes) column(ctx context.Context, table catalog.TableName, column *statement.Column) (madeOne, error) {
	options := statement.SequenceOptions{}
	kind := serials[strings.ToLower(column.Type)]
	if kind == "" {
		var ok bool
		if kind, ok = typeNames[strings.ToLower(column.Type)]; !ok {
			return madeOne{}, invalid("identity column type must be smallint, integer, or bigint")
		}
		options = column.Identity.Options
	} else if column.Identity != nil {
		return madeOne{}, sqlerror.New("42601", "both default and identity specified for column %q of table %q",
			column.Name, table.Name)
	}
	if column.Default != "" {
		message := "multiple default values specified for column %q of table %q"
		if column.Identity != nil {
			message = "both default and identity specified for column %q of table %q"
		}
		return madeOne{}, sqlerror.New("42601", message, column.Name, table.Name)
	}
	options.Type = kind
	d, err := New(&options)
	if err != nil {
		return madeOne{}, err
	}
	d.Identity = column.Identity != nil
	name := c.nameOf(table, column.Name)
	if options.Named != nil {
		if name, err = c.View.Qualify(*options.Named); err != nil {
			return madeOne{}, err
		}
		if c.taken(name) {
			return madeOne{}, sqlerror.New("42P07", "relation %q already exists", name.Name)
		}
	}
	view, err := c.create(ctx, name, d)
	if err != nil {
		return madeOne{}, err
	}
	column.Type, column.NotNull, column.Default = kind, true, Call(view.ID)
	return madeOne{view, column.Name}, nil
}

// Own gives the sequences to the table, which is there now.
func (m *Made) Own(table catalog.TableName) error {
	if m == nil || len(m.list) == 0 {
		return nil
	}
	version, ok := m.changes.Tx.Contents().Table(table)
	if !ok {
		return nil
	}
	for _, one := range m.list {
		d, _ := Of(one.view)
		d.Owner, d.Column = uint64(version.Table().ID), one.column
		if _, err := m.changes.put(one.view, one.view.Name, d); err != nil {
			return err
		}
	}
	return nil
}

// nameBytes is how long PostgreSQL's names are.
const nameBytes = 63

// nameOf is the name that PostgreSQL gives the sequence of a column: t_c_seq, with a number if it is taken.
func (c *Changes) nameOf(table catalog.TableName, column string) catalog.TableName {
	for n := 0; ; n++ {
		end := "_seq"
		if n > 0 {
			end = fmt.Sprintf("_seq%d", n)
		}
		first, second := table.Name, column
		for len(first)+len(second)+1+len(end) > nameBytes {
			if len(first) > len(second) {
				first = shorter(first)
			} else {
				second = shorter(second)
			}
		}
		name := catalog.TableName{Schema: table.Schema, Name: first + "_" + second + end}
		if name != table && !c.taken(name) {
			return name
		}
	}
}

func shorter(s string) string {
	_, size := utf8.DecodeLastRuneInString(s)
	return s[:len(s)-size]
}

// Used are the columns whose defaults take values of a sequence, in the transaction's tables except some.
func (c *Changes) Used(id catalog.TableID, but func(catalog.TableName) bool,
	defaultOf func(arrow.Field) string) (list []Use) {
	calls := mention.Mention{Kind: mention.Sequence, Number: uint64(id)}
	for _, version := range c.Tx.Contents().Mentioning(calls) {
		t := version.Table()
		if but(t.Name) {
			continue
		}
		for i, f := range t.Columns.Fields() {
			for _, number := range Calls(defaultOf(f)) {
				if catalog.TableID(number) == id {
					list = append(list, Use{t.Name, t.ID, i, f.Name})
				}
			}
		}
	}
	return list
}

// Use is a column whose default takes values of a sequence.
type Use struct {
	Table  catalog.TableName
	ID     catalog.TableID
	At     int
	Column string
}

// Refuse is the error of dropping a sequence that a default needs.
func (u Use) Refuse(view *catalog.View) error {
	name := dialect.PlainIdentifier(view.Name.Name)
	if d, _ := Of(view); d.Identity {
		return sqlerror.New("2BP01", "cannot drop sequence %s because column %s of table %s requires it", name,
			dialect.PlainIdentifier(u.Column), dialect.PlainIdentifier(u.Table.Name)).
			WithHint(fmt.Sprintf("You can drop column %s of table %s instead.", dialect.PlainIdentifier(u.Column),
				dialect.PlainIdentifier(u.Table.Name)))
	}
	e := sqlerror.New("2BP01", "cannot drop sequence %s because other objects depend on it", name).
		WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	e.DetailText = u.String() + " depends on sequence " + name
	return e
}

func (u Use) String() string {
	return "default value for column " + dialect.PlainIdentifier(u.Column) + " of table " +
		dialect.PlainIdentifier(u.Table.Name)
}

// Continue has the sequences of a table's identity columns, which have given no value yet, go on behind those of
// another table's columns of the same names.
func (c *Changes) Continue(ctx context.Context, of, table catalog.TableID) error {
	for _, view := range OwnedBy(c.View.Contents, of, "") {
		d, _ := Of(view)
		if !d.Identity {
			continue
		}
		last, given, err := c.Keeper.Reserved(ctx, view.Counter)
		if err != nil {
			return err
		}
		for _, own := range OwnedBy(c.Tx.Contents(), table, d.Column) {
			next, _ := Of(own)
			if !next.Identity {
				continue
			}
			if next.First = d.First; given {
				if next.First, given = behind(d, last); !given {
					return sqlerror.New("2200H", "the sequence of column %q has no value left", d.Column)
				}
			}
			if _, err := c.put(own, own.Name, next); err != nil {
				return err
			}
		}
	}
	return nil
}

// behind is the value that follows another one; false: none does.
func behind(d Definition, last int64) (int64, bool) {
	switch {
	case d.Increment > 0 && (last > d.Max-d.Increment || d.Max < math.MinInt64+d.Increment):
		return d.Min, d.Cycle
	case d.Increment < 0 && (last < d.Min-d.Increment || d.Min > math.MaxInt64+d.Increment):
		return d.Max, d.Cycle
	}
	return last + d.Increment, true
}
