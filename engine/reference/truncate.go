package reference

import (
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Truncated are the tables that a TRUNCATE of some empties: with cascade those that refer to them, too, for each of
// which notice is called. Without, it is an error if there are such.
func Truncated(contents *catalog.Contents, tables []catalog.TableName, cascade bool,
	notice func(message, detail string)) ([]catalog.TableName, error) {
	all := slices.Clone(tables)
	for i := 0; i < len(all); i++ {
		version, ok := contents.Table(all[i])
		if !ok {
			continue
		}
		refs, err := to(version.Table(), contents.TableOf)
		if err != nil {
			return nil, err
		}
		for _, r := range refs {
			switch {
			case slices.Contains(all, r.child.Name):
			case cascade:
				notice("truncate cascades to table \""+r.child.Name.Name+"\"", "")
				all = append(all, r.child.Name)
			default:
				e := sqlerror.New("0A000", "cannot truncate a table referenced in a foreign key constraint")
				child := "\"" + r.child.Name.Name + "\""
				e.DetailText = "Table " + child + " references \"" + r.parent.Name.Name + "\"."
				return nil, e.WithHint("Truncate table " + child + " at the same time, or use TRUNCATE ... CASCADE.")
			}
		}
	}
	return all, nil
}
