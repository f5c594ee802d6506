package dependency

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/sql/statement"
)

// Defaults looks for columns that stay and whose defaults take values of sequences that go: with cascade they lose the
// default, otherwise that is an error.
func (d *Drop) Defaults(changes *sequence.Changes, cascade bool) error {
	tx := changes.Tx
	tables := d.Tables()
	going := func(name catalog.TableName) bool { return slices.Contains(tables, name) }
	for _, o := range d.objects {
		if o.Kind != statement.Sequence {
			continue
		}
		view, _ := d.v.Contents.View(o.Name)
		s, is := sequence.Of(view)
		if !is {
			continue
		}
		for _, use := range changes.Used(view.ID, going, defaultOf) {
			if !cascade || s.Identity && s.Owner == uint64(use.ID) {
				return use.Refuse(view)
			}
			version, ok := tx.Contents().Table(use.Table)
			if !ok {
				continue
			}
			fields, meta := version.Table().Columns.Fields(), version.Table().Columns.Metadata()
			fields[use.At] = definition.WithoutDefault(fields[use.At])
			if err := tx.Redeclare(use.Table, arrow.NewSchema(fields, &meta)); err != nil {
				return err
			}
			changes.Notice("00000", fmt.Sprintf("drop cascades to %s", use))
		}
	}
	return nil
}

func defaultOf(f arrow.Field) string {
	text, _ := f.Metadata.GetValue(cast.DefaultKey)
	return text
}
