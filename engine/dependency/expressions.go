package dependency

import (
	"cmp"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// use is an expression of a table that stays which calls a function that goes.
type use struct {
	function.Expression
	table    Object
	function Object
}

// uses are those of the functions that go.
func (d *Drop) usesOfFunctions() (list []use, err error) {
	for _, o := range d.objects {
		f, ok := d.v.Contents.Function(o.Name)
		if !ok || o.Kind != statement.Function {
			continue
		}
		for _, v := range d.v.Contents.Mentioning(mention.Mention{Kind: mention.Function, Number: uint64(f.ID)}) {
			table := Object{kindOfTable(v), v.Table().Name}
			if _, goes := d.because[table]; goes {
				continue
			}
			expressions, err := function.Expressions(v.Table().Columns)
			if err != nil {
				return nil, err
			}
			for _, e := range expressions {
				known := slices.ContainsFunc(list, func(u use) bool {
					return u.table == table && u.Kind == e.Kind && u.At == e.At
				})
				if e.Calls.Needs(uint64(f.ID)) && !known {
					list = append(list, use{e, table, o})
				}
			}
		}
	}
	for _, o := range d.objects {
		f, ok := d.v.Contents.Function(o.Name)
		if !ok || o.Kind != statement.Function {
			continue
		}
		for _, t := range d.v.Contents.Types() {
			domain := Object{statement.Type, t.Name}
			if _, goes := d.because[domain]; t.Domain == nil || goes {
				continue
			}
			expressions, err := function.Expressions(t.Domain)
			if err != nil {
				return nil, err
			}
			for _, e := range expressions {
				if e.Calls.Needs(uint64(f.ID)) {
					list = append(list, use{e, domain, o})
				}
			}
		}
	}
	return list, nil
}

// words name it as PostgreSQL does.
func (u use) words(d *Drop) string {
	if u.table.Kind == statement.Type {
		return string(u.Kind) + " " + dialect.PlainIdentifier(u.Name) + " of " + d.words(u.table)
	}
	return u.Words(strings.TrimPrefix(d.words(u.table), string(u.table.Kind)+" "))
}

// expressions is an error if a table that stays has expressions which call a function that goes, of which the first
// objects were named. With CASCADE they go from the table, but for generated columns.
func (d *Drop) expressions(tx *catalog.Transaction, named int, cascade bool,
	notice func(message, detail string)) error {
	list, err := d.usesOfFunctions()
	if err != nil || len(list) == 0 {
		return err
	}
	stays := func(u use) bool { return u.Kind == function.Generated || u.table.Kind == statement.Type }
	if !cascade || slices.ContainsFunc(list, stays) {
		e := d.Refuse(named).(*sqlerror.Error)
		lines := []string{e.DetailText}
		if e.DetailText == "" {
			lines = nil
		}
		for _, u := range list[:min(len(list), reportedMax)] {
			lines = append(lines, u.words(d)+" depends on "+d.words(u.function))
		}
		e.DetailText = strings.Join(lines, "\n")
		if cascade {
			return e.WithHint("Drop the generated columns, and the checks of domains, first: CASCADE takes no columns.")
		}
		return e
	}
	slices.SortStableFunc(list, func(a, b use) int { return cmp.Compare(b.At, a.At) }) // so that other places stay
	for _, u := range list {
		notice("drop cascades to "+u.words(d), "")
		version, ok := tx.Contents().Table(u.table.Name)
		if !ok {
			continue
		}
		columns, err := without(version.Table().Columns, u)
		if err != nil {
			return err
		}
		if err := tx.Redeclare(u.table.Name, columns); err != nil {
			return err
		}
	}
	return nil
}

// without are columns that have an expression no longer.
func without(columns *arrow.Schema, u use) (*arrow.Schema, error) {
	if u.Kind == function.Check {
		list, err := constraint.Of(columns)
		if err != nil {
			return nil, err
		}
		return constraint.Mark(columns, slices.Delete(list, u.At, u.At+1))
	}
	fields, meta := columns.Fields(), columns.Metadata()
	f := definition.WithoutDefault(fields[u.At])
	f.Metadata = mark.WithAny(f.Metadata, cast.DefaultKey, constraint.DomainDefault(f)) // which it has then
	fields[u.At] = f
	return arrow.NewSchema(fields, &meta), nil
}
