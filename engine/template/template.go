package template

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/comment"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Reader reads templates for one statement.
type Reader struct {
	Definitions *definition.Reader
	// Describe says what columns a query has.
	Describe func(ctx context.Context, query string) (*arrow.Schema, error)
}

// Table is the schema of the table that a statement makes, with the sequences of its columns.
func (r *Reader) Table(ctx context.Context, name catalog.TableName, head *statement.CreateTable,
	sequences *sequence.Changes) (*arrow.Schema, *sequence.Made, error) {
	made := &copies{reader: r, table: name, fields: map[int]arrow.Field{}}
	with, err := made.expand(ctx, head)
	if err != nil {
		return nil, nil, err
	}
	with, owned, err := sequences.Table(ctx, name, with)
	if err != nil {
		return nil, nil, err
	}
	schema, err := r.Definitions.Columns(with, made.fields)
	if err != nil {
		return nil, nil, err
	}
	written := append(slices.Clone(head.Constraints), made.written...)
	if schema, err = r.Definitions.Constrained(name, schema, written); err != nil {
		return nil, nil, err
	}
	if schema, err = made.constrained(schema, head.Constraints); err != nil {
		return nil, nil, err
	}
	return schema, owned, function.Hold(sequences.Tx, schema)
}

// copies are what the LIKE clauses of one statement take.
type copies struct {
	reader *Reader
	table  catalog.TableName
	fields map[int]arrow.Field // the columns, by their places in the table
	// written are the constraints that are made as if they had been written, and said what is said of their indexes.
	written []statement.Constraint
	said    []string
	// ready are checks and indexes that are taken as they are on record.
	ready []constraint.Constraint
}

// expand is a statement that has the columns of its templates.
func (c *copies) expand(ctx context.Context, head *statement.CreateTable) (*statement.CreateTable, error) {
	if len(head.Likes) == 0 {
		return head, nil
	}
	with := *head
	with.Columns = nil
	last := 0
	for _, like := range head.Likes {
		with.Columns = append(with.Columns, head.Columns[last:like.Before]...)
		last = like.Before
		of, err := c.reader.find(ctx, like)
		if err != nil {
			return nil, err
		}
		for _, f := range of.columns {
			column, kept, err := c.reader.column(of, f, like)
			if err != nil {
				return nil, err
			}
			c.fields[len(with.Columns)] = kept
			with.Columns = append(with.Columns, column)
		}
		c.constraints(of, like)
	}
	with.Columns = append(with.Columns, head.Columns[last:]...)
	return &with, nil
}

// column is a template's as a column of a definition, and as a field.
func (r *Reader) column(of *relation, f arrow.Field, like statement.Like) (statement.Column, arrow.Field, error) {
	c := statement.Column{Name: f.Name, NotNull: !f.Nullable, At: like.Of.At}
	written, identity, generated := f.Metadata, cast.Identity(f), cast.Generated(f)
	text, hasDefault := written.GetValue(cast.DefaultKey)
	f = cast.WithGenerated(definition.WithoutDefault(f), "")
	f.Metadata = mark.Without(f.Metadata, cast.IdentityKey)
	if value := constraint.DomainDefault(f); value != "" {
		f.Metadata = mark.With(f.Metadata, cast.DefaultKey, value)
	}
	if !like.Comments {
		f = comment.Kept(f, arrow.Field{})
	}
	switch {
	case identity != "" && like.Identity:
		c.Type, c.Identity = of.counts(f.Name, identity == cast.IdentityAlways)
	case identity != "":
	case generated != "" && like.Generated:
		f = cast.WithGenerated(f, generated)
	case generated != "" || !hasDefault || !like.Defaults:
	case !of.temporary:
		f.Metadata = mark.With(f.Metadata, cast.DefaultKey, text)
	default:
		name, err := columntype.SQL(f)
		if err != nil {
			return c, f, err
		}
		bound := c
		bound.Default = withoutCalls(text)
		f, err = r.Definitions.WithDefault(f, bound, name)
		return c, f, err
	}
	return c, f, nil
}

// counts are the type of an identity column and what is said of its sequence.
func (of *relation) counts(column string, always bool) (string, *statement.Identity) {
	for _, view := range of.sequences {
		if d, _ := sequence.Of(view); d.Identity && strings.EqualFold(d.Column, column) {
			return d.Type, &statement.Identity{Always: always, Options: d.Options()}
		}
	}
	return "bigint", &statement.Identity{Always: always}
}

// constraints takes those of a template. Foreign keys are never taken.
func (c *copies) constraints(of *relation, like statement.Like) {
	for _, k := range of.constraints {
		k.Born = ""
		if !like.Comments {
			k.Comment, k.IndexComment = "", ""
		}
		switch {
		case k.Domain != 0: // it comes with its column
		case k.Kind == constraint.Check && like.Constraints:
			if of.temporary {
				c.write(statement.Constraint{
					Kind: statement.Check, Name: k.Name, Expression: k.Expression, At: like.Of.At,
				}, "")
				continue
			}
			if text := of.unqualified(k); text != k.Expression {
				k.Expression, k.Table = text, c.table.Name
			}
			c.ready = append(c.ready, k)
		case k.IsIndex() && like.Indexes:
			k.Name = ""
			c.ready = append(c.ready, k)
		case k.Unique() && like.Indexes:
			kind := map[constraint.Kind]statement.ConstraintKind{
				constraint.PrimaryKey: statement.PrimaryKey, constraint.Unique: statement.Unique,
			}[k.Kind]
			at := slices.Repeat([]int{like.Of.At}, len(k.Columns))
			c.write(statement.Constraint{
				Kind: kind, Columns: k.Columns, ColumnsAt: at, Deferrable: k.Deferrable, Deferred: k.Deferred,
				NullsNotDistinct: k.NullsNotDistinct, At: like.Of.At,
			}, k.IndexComment)
		}
	}
}

func (c *copies) write(k statement.Constraint, said string) {
	c.written, c.said = append(c.written, k), append(c.said, said)
}

// constrained is the table's schema, which has all that was written, with what is taken as it is on record. own are the
// constraints of the statement itself.
func (c *copies) constrained(schema *arrow.Schema, own []statement.Constraint) (*arrow.Schema, error) {
	if len(c.written)+len(c.ready) == 0 {
		return schema, nil
	}
	list, err := constraint.Of(schema)
	if err != nil {
		return nil, err
	}
	first := 0 // foreign keys are last
	for _, k := range own {
		if k.Kind != statement.ForeignKey {
			first++
		}
	}
	for i, text := range c.said {
		list[first+i].IndexComment = text
	}
	for _, k := range c.ready {
		if k.Name != "" && slices.ContainsFunc(list, func(o constraint.Constraint) bool { return o.Name == k.Name }) {
			return nil, sqlerror.New("42710", "constraint %q for relation %q already exists", k.Name, c.table.Name)
		}
		if k, err = c.reader.Definitions.Named(c.table, k, list, list); err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	return constraint.Mark(schema, list)
}
