package dependency

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// types is an error if a table that stays has a column of a type that goes, or names it in a default or a constraint.
// The first objects were named.
func (d *Drop) types(named int) error {
	for _, o := range d.objects {
		if o.Kind != statement.Type {
			continue
		}
		t, ok := d.v.Contents.Type(o.Name)
		if !ok {
			continue
		}
		call := enumeration.NameOf(uint64(t.ID))
		var lines []string
		for _, v := range d.v.Contents.Mentioning(mention.Mention{Kind: mention.Type, Number: uint64(t.ID)}) {
			table := Object{kindOfTable(v), v.Table().Name}
			if _, goes := d.because[table]; goes {
				continue
			}
			if what := d.uses(v.Table().Columns, uint64(t.ID), call); what != "" && len(lines) < reportedMax {
				lines = append(lines, what+" of "+d.words(table)+" depends on "+d.words(o))
			}
		}
		if len(lines) > 0 {
			e := sqlerror.New("2BP01", "cannot drop %s because other objects depend on it", d.words(o)).
				WithHint("Drop or alter the columns first: CASCADE takes no columns.")
			e.DetailText = strings.Join(lines, "\n")
			if more := d.dependents(named); more != "" {
				e.DetailText += "\n" + more
			}
			return e
		}
	}
	return nil
}

// uses is what of a table needs a type, empty if nothing does.
func (d *Drop) uses(columns *arrow.Schema, number uint64, call string) string {
	for _, f := range columns.Fields() {
		if of := enumeration.Of(f); of != nil && of.Number() == number {
			return "column " + f.Name
		}
		if of, ok := constraint.DomainOf(f); ok && of == number {
			return "column " + f.Name
		}
		for _, text := range f.Metadata.Values() {
			if enumeration.Calls(text, call) {
				return "default of column " + f.Name
			}
		}
	}
	for _, text := range columns.Metadata().Values() {
		if enumeration.Calls(text, call) {
			return "a constraint"
		}
	}
	return ""
}
