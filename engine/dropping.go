package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// DROP, as PostgreSQL has it: what others depend on goes only with them.
//
//	view w ──reads──► view v ──reads──► table t ──in──► schema s
//
// A view depends on the tables and views that its query names, and they on their schemas. Nobody keeps a record of that: it stands in the
// views' queries. Views that are made at the same time are the catalog's business (K10). Of temporary views, which DuckDB has, the session's
// own are looked at; nobody else sees another's, and a view that reads nothing any more says so when it is asked.

// object is something that DROP takes away.
type object struct {
	kind statement.Object
	name catalog.TableName // of a schema only its Schema; of a temporary view that is temporarySchema
}

// dropping is one DROP under way.
type dropping struct {
	session *Session
	v       *visible
	objects []object       // what goes, each behind those that it depends on
	because map[object]any // object or nil: what each depends on; nil of those that were named
}

func (st *Statement) drop(ctx context.Context, head *statement.Drop) (*Rows, error) {
	s := st.session
	own, err := s.temporaryNames(ctx)
	if err != nil {
		return nil, err
	}
	if head.Object != statement.Schema && len(head.Names) == 1 && own.means(head.Names[0]) {
		return st.runPrivate(ctx, nil)
	}
	err = s.write(ctx, func(tx *catalog.Transaction, v *visible) error {
		d := &dropping{session: s, v: v, because: map[object]any{}}
		for _, n := range head.Names {
			o, err := s.dropped(v, head.Object, n)
			if e, ok := err.(interface{ SQLState() string }); ok && head.IfExists && (e.SQLState() == "42P01" || e.SQLState() == "3F000") {
				s.notice(Notice{Severity: "NOTICE", State: "00000", Message: fmt.Sprintf("%s %q does not exist, skipping", head.Object, n.String())})
				continue
			}
			if err != nil {
				return st.pointAt(err, n.Name)
			}
			d.add(o, nil)
		}
		named := len(d.objects)
		if err := d.follow(ctx); err != nil {
			return err
		}
		if len(d.objects) > named {
			if !head.Cascade {
				return d.refuse(named)
			}
			d.tell(named)
		}
		var going []catalog.TableName
		for _, o := range d.objects {
			if o.kind == statement.Table {
				going = append(going, o.name)
			}
		}
		references, err := definition.ReferencesTo(v.contents, going)
		if err != nil {
			return err
		}
		if len(references) > 0 && !head.Cascade {
			return definition.Referenced(references)
		}
		if err := s.forgetReferences(tx, references); err != nil {
			return err
		}
		return d.run(tx)
	})
	return done("DROP "+strings.ToUpper(string(head.Object)), 0), err
}

// dropped is what a name in a DROP means.
func (s *Session) dropped(v *visible, kind statement.Object, n statement.Name) (object, error) {
	if kind == statement.Schema {
		if err := ownDatabase(n.Schema, n.String()); err != nil {
			return object{}, err
		}
		if !v.contents.HasSchema(n.Name) {
			return object{}, sqlerror.New("3F000", "schema %q does not exist", n.Name)
		}
		return object{kind, catalog.TableName{Schema: n.Name}}, nil
	}
	version, view := s.lookup(v, n.Database, n.Schema, n.Name), s.lookupView(v, n.Database, n.Schema, n.Name)
	switch {
	case kind == statement.View && view != nil:
		return object{kind, view.Name}, nil
	case kind == statement.View && version != nil:
		return object{}, sqlerror.New("42809", "%q is not a view", n.Name).WithHint("Use DROP TABLE to remove a table.")
	case kind == statement.Table && version != nil:
		return object{kind, version.Table().Name}, nil
	case kind == statement.Table && view != nil:
		return object{}, sqlerror.New("42809", "%q is not a table", n.Name).WithHint("Use DROP VIEW to remove a view.")
	}
	return object{}, sqlerror.New("42P01", "%s %q does not exist", kind, n.String())
}

func (d *dropping) add(o object, because any) {
	if _, known := d.because[o]; !known {
		d.because[o] = because
		d.objects = append(d.objects, o)
	}
}

// follow adds what depends on what goes.
func (d *dropping) follow(ctx context.Context) error {
	private, err := d.session.temporaryViews(ctx, d.v)
	if err != nil {
		return err
	}
	for i := 0; i < len(d.objects); i++ {
		o := d.objects[i]
		if o.kind == statement.Schema {
			d.inside(o)
			continue
		}
		for _, w := range private {
			if slices.Contains(w.reads, o.name) {
				d.add(object{statement.View, w.name}, o)
			}
		}
		for _, w := range d.v.contents.Views() {
			if _, goes := d.because[object{statement.View, w.Name}]; goes || !strings.Contains(strings.ToLower(w.SQL), strings.ToLower(o.name.Name)) {
				continue
			}
			reads, err := d.session.readBy(ctx, d.v, w)
			if err != nil {
				return err
			}
			if slices.Contains(reads, o.name) {
				d.add(object{statement.View, w.Name}, o)
			}
		}
	}
	return nil
}

func (d *dropping) inside(schema object) {
	for _, t := range d.v.contents.Tables() {
		if t.Table().Name.Schema == schema.name.Schema {
			d.add(object{statement.Table, t.Table().Name}, schema)
		}
	}
	for _, w := range d.v.contents.Views() {
		if w.Name.Schema == schema.name.Schema {
			d.add(object{statement.View, w.Name}, schema)
		}
	}
}

// temporaryView is one that the session has for itself.
type temporaryView struct {
	name  catalog.TableName // in temporarySchema
	reads []catalog.TableName
}

// temporaryViews are those of the session, with what they read.
func (s *Session) temporaryViews(ctx context.Context, v *visible) ([]temporaryView, error) {
	if !s.temporary {
		return nil, nil
	}
	s.yield()
	made, err := s.conn.Texts(ctx, "SELECT sql FROM system.main.duckdb_views() WHERE temporary AND NOT internal")
	if err != nil {
		return nil, err
	}
	var views []temporaryView
	for _, sql := range made {
		parsed, err := statement.Parse(sql)
		if err != nil {
			continue
		}
		head, ok := parsed.Head.(*statement.CreateView)
		if !ok {
			continue
		}
		w := temporaryView{name: catalog.TableName{Schema: temporarySchema, Name: head.Name.Name}}
		mentions, err := s.mentions(ctx, head.Query)
		if dialect.IsParsers(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, m := range mentions.Relations {
			if name, ok := v.named(m, ""); ok {
				w.reads = append(w.reads, name)
			} else if isTemporaryMention(m) {
				w.reads = append(w.reads, catalog.TableName{Schema: temporarySchema, Name: m.Name})
			}
		}
		views = append(views, w)
	}
	return views, nil
}

// readBy are the tables and views that a view reads. What DuckDB cannot parse any more reads nothing.
func (s *Session) readBy(ctx context.Context, v *visible, w *catalog.View) ([]catalog.TableName, error) {
	s.yield()
	mentions, err := s.mentions(ctx, w.SQL)
	if err != nil {
		return nil, dialect.UnlessParsers(err)
	}
	var reads []catalog.TableName
	for _, m := range mentions.Relations {
		if name, ok := v.named(m, w.Name.Schema); ok {
			reads = append(reads, name)
		}
	}
	return reads, nil
}

// named is the table or view that a name in a view's query means; schema is that of names without one, which views of former catalogs have.
func (v *visible) named(m duckdb.Mention, schema string) (catalog.TableName, bool) {
	if m.Catalog != "" && !strings.EqualFold(m.Catalog, duckdb.CatalogName) {
		return catalog.TableName{}, false
	}
	if m.Schema != "" {
		schema = m.Schema
	}
	if t := v.find(schema, m.Name); t != nil {
		return t.Table().Name, true
	}
	if w := v.view(schema, m.Name); w != nil {
		return w.Name, true
	}
	return catalog.TableName{}, false
}

// reportedMax bounds the lines of a detail.
const reportedMax = 100

// reasons are a line for each object that was not named.
func (d *dropping) reasons(named int, line func(object) string) string {
	var lines []string
	for _, o := range d.objects[named:] {
		if len(lines) == reportedMax {
			lines = append(lines, "and "+counted.Of(len(d.objects)-named-reportedMax, "other object"))
			break
		}
		lines = append(lines, line(o))
	}
	return strings.Join(lines, "\n")
}

// refuse is DROP's error without CASCADE.
func (d *dropping) refuse(named int) error {
	e := sqlerror.New("2BP01", "cannot drop desired object(s) because other objects depend on them").WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	if named == 1 {
		e.Message = "cannot drop " + d.words(d.objects[0]) + " because other objects depend on it"
	}
	e.DetailText = d.reasons(named, func(o object) string { return d.words(o) + " depends on " + d.words(d.because[o].(object)) })
	return e
}

// tell says what CASCADE takes.
func (d *dropping) tell(named int) {
	n := Notice{Severity: "NOTICE", State: "00000"}
	cascades := func(o object) string { return "drop cascades to " + d.words(o) }
	if others := len(d.objects) - named; others == 1 {
		n.Message = cascades(d.objects[named])
	} else {
		n.Message = "drop cascades to " + counted.Of(others, "other object")
		n.Detail = d.reasons(named, cascades)
	}
	d.session.notice(n)
}

// words name an object as PostgreSQL does: with its schema if it is not found without.
func (d *dropping) words(o object) string {
	if o.kind == statement.Schema {
		return "schema " + dialect.PlainIdentifier(o.name.Schema)
	}
	if o.name.Schema == temporarySchema {
		return string(o.kind) + " " + dialect.PlainIdentifier(o.name.Name)
	}
	for _, schema := range d.session.settings.searchPath {
		if name, ok := d.v.named(duckdb.Mention{Name: o.name.Name}, schema); ok {
			if name == o.name {
				return string(o.kind) + " " + dialect.PlainIdentifier(o.name.Name)
			}
			break
		}
	}
	return string(o.kind) + " " + dialect.PlainIdentifier(o.name.Schema) + "." + dialect.PlainIdentifier(o.name.Name)
}

// run takes everything away, what depends first.
func (d *dropping) run(tx *catalog.Transaction) error {
	for _, o := range slices.Backward(d.objects) {
		var err error
		switch {
		case o.name.Schema == temporarySchema:
			err = d.session.dropTemporaryView(o.name.Name)
		case o.kind == statement.Schema:
			err = tx.DropSchema(o.name.Schema, true) // what is in it is gone by now
		case o.kind == statement.View:
			err = tx.DropView(o.name)
		default:
			err = tx.DropTable(o.name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropTemporaryView drops one of the session's own. Preconditions: a block is open; DuckDB's transaction ends as it does.
func (s *Session) dropTemporaryView(name string) error {
	s.yield()
	if err := s.beginDuck(s.block); err != nil {
		return err
	}
	s.changedTemporary()
	return s.conn.Exec("DROP VIEW " + temporarySchema + "." + duckdb.QuoteIdentifier(name))
}
