package alteration

import (
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// loss is something of the table that goes, which foreign keys may need.
type loss struct {
	columns []string // those that they name
	whole   bool     // it is a key: they name all of its columns
	what    string   // column a of table t, constraint t_pkey on table t
	need    string   // what they depend on: that, or index t_pkey
	cascade bool
}

// takes reports whether a foreign key to the table cannot be without what goes.
func (l *loss) takes(k *constraint.Constraint) bool {
	if l.whole {
		return sameSet(l.columns, k.ReferencedColumns)
	}
	return slices.Contains(k.ReferencedColumns, l.columns[0])
}

// sameSet compares the columns of two keys, which name none twice.
func sameSet(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(name string) bool { return !slices.Contains(b, name) })
}

func (a *alteration) loseColumn(name string, cascade bool) {
	what := fmt.Sprintf("column %s of table %s", name, a.table.Name.Name)
	a.losses = append(a.losses, loss{columns: []string{name}, what: what, need: what, cascade: cascade})
}

func (a *alteration) loseKey(k constraint.Constraint, cascade bool) {
	a.losses = append(a.losses, loss{
		columns: k.Columns, whole: true, cascade: cascade, need: "index " + k.Name,
		what: fmt.Sprintf("constraint %s on table %s", k.Name, a.table.Name.Name),
	})
}

// references reports whether a foreign key of a table stays; one that needs what goes does only if CASCADE was not
// said, which is an error then.
func (a *alteration) references(of catalog.TableName, k *constraint.Constraint) (stays bool, err error) {
	for i := range a.losses {
		l := &a.losses[i]
		if !l.takes(k) {
			continue
		}
		if !l.cascade {
			e := sqlerror.New("2BP01", "cannot drop %s because other objects depend on it", l.what).
				WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
			e.DetailText = fmt.Sprintf("constraint %s on table %s depends on %s", k.Name, of.Name, l.need)
			return true, e
		}
		a.Notice(fmt.Sprintf("drop cascades to constraint %s on table %s", k.Name, of.Name), "")
		return false, nil
	}
	return true, nil
}

// others brings the placement, and foreign keys of other tables, up to the columns.
func (a *alteration) others() error {
	if err := a.place(); err != nil {
		return err
	}
	to := mention.Mention{Kind: mention.Reference, Number: uint64(a.table.ID)}
	for _, t := range a.tx.Contents().Mentioning(to) {
		if t.Table().ID == a.table.ID {
			continue
		}
		if err := a.other(t.Table()); err != nil {
			return err
		}
	}
	return nil
}

func (a *alteration) place() error {
	p, err := placement.Parse(a.table.Placement)
	if err != nil || a.renamed[0] == "" || !slices.Contains(p.Columns, a.renamed[0]) {
		return err
	}
	a.follow(p.Columns)
	return a.tx.SetPlacement(a.table.Name, p.String())
}

func (a *alteration) other(table catalog.Table) error {
	list, err := constraint.Of(table.Columns)
	if err != nil {
		return err
	}
	var kept []constraint.Constraint
	changed := false
	for _, k := range list {
		if k.Kind == constraint.ForeignKey && k.References == uint64(a.table.ID) {
			stays, err := a.references(table.Name, &k)
			if err != nil {
				return err
			}
			if !stays {
				changed = true
				continue
			}
			k.ReferencedColumns = slices.Clone(k.ReferencedColumns)
			a.follow(k.ReferencedColumns)
			changed = changed || a.renamed[0] != ""
		}
		kept = append(kept, k)
	}
	if !changed {
		return nil
	}
	columns, err := constraint.Mark(table.Columns, kept)
	if err != nil {
		return err
	}
	return a.tx.Redeclare(table.Name, columns)
}

// Forget takes foreign keys off the record.
func Forget(tx *catalog.Transaction, list []definition.Reference, notice func(message, detail string)) error {
	for _, r := range list {
		version, ok := tx.Contents().Table(r.From)
		if !ok {
			continue
		}
		constraints, err := constraint.Of(version.Table().Columns)
		if err != nil {
			return err
		}
		constraints = slices.DeleteFunc(constraints, func(k constraint.Constraint) bool { return k.Name == r.Constraint })
		schema, err := constraint.Mark(version.Table().Columns, constraints)
		if err != nil {
			return err
		}
		if err := tx.Redeclare(r.From, schema); err != nil {
			return err
		}
		notice("drop cascades to "+r.String(), "")
	}
	return nil
}
