package clone

import (
	"cmp"
	"context"
	"errors"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/template"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Make makes the table that a statement says, which has a Clone.
func Make(ctx context.Context, head *statement.CreateTable, like *template.Reader, sequences *sequence.Changes) error {
	tx, v := sequences.Tx, sequences.View
	from, err := find(v, *head.Clone)
	if e, ok := err.(*sqlerror.Error); ok && e.At == 0 {
		located := *e
		located.At = head.Clone.At
		return &located
	}
	if err != nil {
		return err
	}
	name, exists, err := definition.Room(tx, v, head, sequences.Notice)
	if err != nil || exists {
		return err
	}
	schema, made, err := like.Table(ctx, name, &statement.CreateTable{Likes: []statement.Like{{
		Of: *head.Clone, Comments: true, Constraints: true, Defaults: true, Generated: true, Identity: true,
		Indexes: true,
	}}}, sequences)
	if err != nil {
		return err
	}
	tx.Reads(append(definition.Sequences(tx.Contents(), schema), namedtype.Uses(tx.Contents(), schema)...)...)
	now := from.now.Table()
	err = tx.Clone(ctx, from.version, name, schema, catalog.TableOptions{
		Placement: now.Placement, Replicas: now.Replicas, Retention: now.Retention,
	})
	switch {
	case errors.Is(err, catalog.ErrNoVersion):
		return sqlerror.New("0A000", "CLONE of table %q, which this transaction has changed, is not supported",
			now.Name.Name).WithHint("COMMIT first.")
	case err != nil:
		return err
	}
	if err := made.Own(name); err != nil {
		return err
	}
	table, _ := tx.Contents().Table(name)
	return sequences.Continue(ctx, now.ID, table.Table().ID)
}

// source is the version that has the rows, and the table as the statement sees it.
type source struct{ version, now *catalog.TableVersion }

// find finds the source and refuses what cannot be cloned.
func find(v *snapshot.View, name statement.Name) (from source, err error) {
	former := name.Schema == past.Schema
	ref, _ := past.Parse(name.Name)
	if former {
		name = statement.Name{Database: ref.Database, Schema: ref.Schema, Name: ref.Name}
	}
	if from.now, err = v.Stored(name); err != nil {
		if e, ok := err.(*sqlerror.Error); ok {
			switch {
			case err == snapshot.ErrTemporary:
				err = sqlerror.New("0A000", "CLONE of a temporary table is not supported").
					WithHint("CREATE TABLE … AS SELECT * FROM … copies its rows.")
			case e.State == "42809":
				err = sqlerror.New("42809", "%q is not a table", name.Name)
			}
		}
		return from, err
	}
	if from.version = from.now; former {
		if from.version, err = v.Former(from.now, ref); err != nil {
			return from, err
		}
	}
	if materialized.Is(from.now.Table()) {
		return from, sqlerror.New("0A000", "CLONE of a materialized view is not supported").
			WithHint("CREATE TABLE … AS SELECT * FROM … copies its rows.")
	}
	return from, from.whole(v)
}

// whole is an error if something of the source cannot be what it is in another table.
func (s source) whole(v *snapshot.View) error {
	table, now := s.version.Table(), s.now.Table()
	list, err := constraint.Of(table.Columns)
	if err != nil {
		return err
	}
	for _, k := range list {
		if k.Unique() && !k.Held {
			return sqlerror.New("0A000", "CLONE of table %q is not supported: rows are not held to its key %q",
				now.Name.Name, k.Name).WithHint("ALTER TABLE … DROP CONSTRAINT, and ADD it again.")
		}
	}
	if column, err := namedtype.Altered(v.Contents, table.Columns); column != "" || err != nil {
		e := sqlerror.New("0A000", "the domain of column %q of table %q has been altered since version %d", column,
			now.Name.Name, s.version.Version())
		return cmp.Or(err, error(e.WithHint("CREATE TABLE … AS SELECT * FROM … AT (…) copies its rows.")))
	}
	p, err := placement.Parse(now.Placement)
	if err != nil {
		return err
	}
	if table.Placement != now.Placement && p.ByHash() {
		return sqlerror.New("0A000", "table %q has been placed by %s since version %d", now.Name.Name, p.String(),
			s.version.Version()).WithHint("CREATE TABLE … AS SELECT * FROM … AT (…) copies its rows.")
	}
	identity := map[string]bool{}
	for _, view := range sequence.OwnedBy(v.Contents, now.ID, "") {
		if d, _ := sequence.Of(view); d.Identity {
			identity[d.Column] = true
		}
	}
	for _, f := range table.Columns.Fields() {
		gone := cast.Identity(f) != "" && !identity[f.Name]
		text, _ := f.Metadata.GetValue(cast.DefaultKey)
		for _, number := range sequence.Calls(text) {
			gone = gone || sequence.Numbered(v.Contents, number) == nil
		}
		what := "sequence"
		if t := enumeration.Of(f); t != nil {
			if _, ok := v.Contents.TypeOf(catalog.TableID(t.Number())); !ok {
				gone, what = true, "type"
			}
		}
		if gone {
			return sqlerror.New("0A000", "version %d of table %q cannot be cloned: the %s of column %q is gone",
				s.version.Version(), now.Name.Name, what, f.Name).
				WithHint("CREATE TABLE … AS SELECT * FROM … AT (…) copies its rows.")
		}
	}
	return nil
}
