package dependency

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/viewtext"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Object is something that DROP takes away.
type Object struct {
	Kind statement.Object
	Name catalog.TableName // of a schema only its Schema; of a temporary view that is snapshot.TemporarySchema
}

// Drop is one DROP under way.
type Drop struct {
	writer  *viewtext.Writer
	v       *snapshot.View
	objects []Object       // what goes, each behind those that it depends on
	because map[Object]any // Object or nil: what each depends on; nil of those that were named
	owned   int            // of what was named, as many are sequences that go with their tables
}

// New makes one that takes nothing yet.
func New(w *viewtext.Writer) *Drop { return &Drop{writer: w, v: w.View, because: map[Object]any{}} }

// Objects are what goes, each behind those that it depends on.
func (d *Drop) Objects() []Object { return d.objects }

// Tables are those of what goes.
func (d *Drop) Tables() (names []catalog.TableName) {
	for _, o := range d.objects {
		if o.Kind == statement.Table {
			names = append(names, o.Name)
		}
	}
	return names
}

// Named is what a name in a DROP means.
func Named(v *snapshot.View, kind statement.Object, n statement.Name) (Object, error) {
	if kind == statement.Schema {
		if err := snapshot.OwnDatabase(n.Schema, n.String()); err != nil {
			return Object{}, err
		}
		if !v.Contents.HasSchema(n.Name) {
			return Object{}, sqlerror.New("3F000", "schema %q does not exist", n.Name)
		}
		return Object{kind, catalog.TableName{Schema: n.Name}}, nil
	}
	if kind == statement.Type || kind == statement.Domain {
		t := v.LookupType(n.Database, n.Schema, n.Name)
		row := t == nil && kind == statement.Domain && (v.Lookup(n.Database, n.Schema, n.Name) != nil ||
			v.LookupView(n.Database, n.Schema, n.Name) != nil)
		switch {
		case row, t != nil && kind == statement.Domain && t.Domain == nil:
			return Object{}, isNot(kind, n)
		case t == nil:
			return Object{}, sqlerror.New("42704", "type %q does not exist", n.String())
		}
		return Object{statement.Type, t.Name}, nil
	}
	version, view := v.Lookup(n.Database, n.Schema, n.Name), v.LookupView(n.Database, n.Schema, n.Name)
	stored := version != nil && materialized.Is(version.Table())
	if _, is := sequence.Of(view); is && kind != statement.Sequence {
		e := sqlerror.New("42809", "%q is not a %s", n.Name, kind)
		return Object{}, e.WithHint("Use DROP SEQUENCE to remove a sequence.")
	} else if is {
		return Object{kind, view.Name}, nil
	}
	switch {
	case stored && kind == statement.MaterializedView, version != nil && !stored && kind == statement.Table:
		return Object{kind, version.Table().Name}, nil
	case kind == statement.View && view != nil:
		return Object{kind, view.Name}, nil
	case kind == statement.Sequence && (view != nil || version != nil):
		return Object{}, sqlerror.New("42809", "%q is not a sequence", n.Name)
	case stored:
		return Object{}, isNot(kind, n).WithHint("Use DROP MATERIALIZED VIEW to remove a materialized view.")
	case version != nil:
		return Object{}, isNot(kind, n).WithHint("Use DROP TABLE to remove a table.")
	case view != nil:
		return Object{}, isNot(kind, n).WithHint("Use DROP VIEW to remove a view.")
	}
	return Object{}, sqlerror.New("42P01", "%s %q does not exist", kind, n.String())
}

func isNot(kind statement.Object, n statement.Name) *sqlerror.Error {
	return sqlerror.New("42809", "%q is not a %s", n.Name, kind)
}

// isMissing reports whether an error of Named says that there is no such object, which IF EXISTS allows.
func isMissing(err error) bool {
	e, ok := err.(interface{ SQLState() string })
	return ok && slices.Contains([]string{"42P01", "3F000", "42704", "42883"}, e.SQLState())
}

// Add adds what goes with another object; nil: it was named.
func (d *Drop) Add(o Object, because any) {
	if _, known := d.because[o]; !known {
		d.because[o] = because
		d.objects = append(d.objects, o)
	}
}

// Name adds what the statement names, and the sequences that a table owns.
func (d *Drop) Name(o Object) {
	d.Add(o, nil)
	if o.Kind != statement.Table {
		return
	}
	version, ok := d.v.Contents.Table(o.Name)
	if !ok {
		return
	}
	for _, view := range sequence.OwnedBy(d.v.Contents, version.Table().ID, "") {
		before := len(d.objects)
		d.Add(Object{statement.Sequence, view.Name}, nil)
		d.owned += len(d.objects) - before
	}
}

// Follow adds what depends on what goes.
func (d *Drop) Follow(ctx context.Context) error {
	private, err := d.writer.OwnViews(ctx)
	if err != nil {
		return err
	}
	for i := 0; i < len(d.objects); i++ {
		o := d.objects[i]
		if o.Kind == statement.Schema {
			d.inside(o)
			continue
		}
		if f, ok := d.v.Contents.Function(o.Name); ok && o.Kind == statement.Function {
			d.callers(f, o)
			continue
		}
		call := ""
		if t, ok := d.v.Contents.Type(o.Name); ok && o.Kind == statement.Type {
			call = enumeration.NameOf(uint64(t.ID))
		}
		for _, f := range d.v.Contents.Functions() {
			called := func(text string) bool { return enumeration.Calls(text, call) }
			if slices.ContainsFunc(f.Function.Fields(), func(c arrow.Field) bool {
				return slices.ContainsFunc(c.Metadata.Values(), called)
			}) {
				d.Add(Object{statement.Function, f.Name}, o)
			}
		}
		for _, w := range private {
			if slices.Contains(w.Reads, o.Name) || enumeration.Calls(w.Text, call) {
				d.Add(Object{statement.View, w.Name}, o)
			}
		}
		for _, w := range materialized.Queries(d.v.Contents) {
			reader := Object{statement.Object(materialized.Kind(d.v.Contents, w)), w.Name}
			_, goes := d.because[reader]
			if goes || w.Counter != 0 || call == "" && !mayRead(w, o) {
				continue
			}
			if call != "" {
				if enumeration.Calls(w.SQL, call) {
					d.Add(reader, o)
				}
				continue
			}
			reads, err := d.writer.ReadBy(ctx, w)
			if err != nil {
				return err
			}
			if slices.Contains(reads, o.Name) {
				d.Add(reader, o)
			}
		}
	}
	return nil
}

// callers adds what calls a function.
func (d *Drop) callers(f *catalog.UserType, o Object) {
	for _, w := range materialized.Queries(d.v.Contents) {
		if calling.Of(w.Columns).Needs(uint64(f.ID)) {
			d.Add(Object{statement.Object(materialized.Kind(d.v.Contents, w)), w.Name}, o)
		}
	}
}

// mayRead reports whether a view's query can name an object, as far as its text says.
func mayRead(w *catalog.View, o Object) bool {
	return strings.Contains(strings.ToLower(materialized.Calls(w)), strings.ToLower(o.Name.Name))
}

func (d *Drop) inside(schema Object) {
	for _, t := range d.v.Contents.TablesIn(schema.Name.Schema) {
		d.Add(Object{kindOfTable(t), t.Table().Name}, schema)
	}
	for _, w := range d.v.Contents.Views() {
		if w.Name.Schema == schema.Name.Schema {
			d.Add(Object{kindOf(w), w.Name}, schema)
		}
	}
	for _, t := range d.v.Contents.Types() {
		if t.Name.Schema == schema.Name.Schema {
			d.Add(Object{statement.Type, t.Name}, schema)
		}
	}
	for _, f := range d.v.Contents.Functions() {
		if f.Name.Schema == schema.Name.Schema {
			d.Add(Object{statement.Function, f.Name}, schema)
		}
	}
}

func kindOfTable(t *catalog.TableVersion) statement.Object {
	if materialized.Is(t.Table()) {
		return statement.MaterializedView
	}
	return statement.Table
}

func kindOf(w *catalog.View) statement.Object {
	if _, is := sequence.Of(w); is {
		return statement.Sequence
	}
	return statement.View
}

// reportedMax bounds the lines of a detail.
const reportedMax = 100

// reasons are a line for each object that was not named.
func (d *Drop) reasons(named int, line func(Object) string) string {
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

// Refuse is DROP's error without CASCADE.
func (d *Drop) Refuse(named int) error {
	e := sqlerror.New("2BP01", "cannot drop desired object(s) because other objects depend on them").
		WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	if named-d.owned == 1 {
		e.Message = "cannot drop " + d.words(d.objects[0]) + " because other objects depend on it"
	}
	e.DetailText = d.dependents(named)
	return e
}

func (d *Drop) dependents(named int) string {
	return d.reasons(named, func(o Object) string {
		return d.words(o) + " depends on " + d.words(d.because[o].(Object))
	})
}

// Cascade says what CASCADE takes beside what was named.
func (d *Drop) Cascade(named int) (message, detail string) {
	cascades := func(o Object) string { return "drop cascades to " + d.words(o) }
	others := len(d.objects) - named
	if others == 1 {
		return cascades(d.objects[named]), ""
	}
	return "drop cascades to " + counted.Of(others, "other object"), d.reasons(named, cascades)
}

// words name an object as PostgreSQL does: with its schema if it is not found without.
func (d *Drop) words(o Object) string {
	if o.Kind == statement.Schema {
		return "schema " + dialect.PlainIdentifier(o.Name.Schema)
	}
	if o.Name.Schema == snapshot.TemporarySchema {
		return string(o.Kind) + " " + dialect.PlainIdentifier(o.Name.Name)
	}
	if f, ok := d.v.Contents.Function(o.Name); ok && o.Kind == statement.Function {
		return d.called(f)
	}
	if t := d.v.LookupType("", "", o.Name.Name); o.Kind == statement.Type && t != nil && t.Name == o.Name {
		return string(o.Kind) + " " + dialect.PlainIdentifier(o.Name.Name)
	}
	for _, schema := range d.v.Path {
		if name, ok := d.v.Named(duckdb.Mention{Name: o.Name.Name}, schema); ok {
			if name == o.Name {
				return string(o.Kind) + " " + dialect.PlainIdentifier(o.Name.Name)
			}
			break
		}
	}
	return string(o.Kind) + " " + dialect.PlainIdentifier(o.Name.Schema) + "." + dialect.PlainIdentifier(o.Name.Name)
}

// called is words of a function.
func (d *Drop) called(t *catalog.UserType) string {
	schema, name := "", function.Name(t)
	if found := d.v.LookupFunction("", name); found == nil || found.Name != t.Name {
		schema = dialect.PlainIdentifier(t.Name.Schema) + "."
	}
	types := ""
	if f, err := function.Of(t); err == nil {
		types = strings.Join(f.Types(d.v.Contents), ",")
	}
	return string(statement.Function) + " " + schema + dialect.PlainIdentifier(name) + "(" + types + ")"
}
