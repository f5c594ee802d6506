package cast

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// IdentityKey marks the field of a column that is GENERATED … AS IDENTITY; its default takes values of its sequence.
const IdentityKey = "csm.identity"

// The values of IdentityKey, as pg_attribute.attidentity has them.
const (
	IdentityAlways    = "a"
	IdentityByDefault = "d"
)

// Identity is the mark of a field, empty: it is no identity column.
func Identity(f arrow.Field) string {
	mark, _ := f.Metadata.GetValue(IdentityKey)
	return mark
}

// WithIdentity is a field with another mark, empty: without.
func WithIdentity(f arrow.Field, kind string) arrow.Field {
	f.Metadata = mark.WithAny(f.Metadata, IdentityKey, kind)
	return f
}

// Taken are the columns that an INSERT's values are of, an empty name for one whose values are not taken: the column
// makes its own. given reports whether a column has other values in the list than DEFAULT.
func Taken(head *statement.Insert, schema *arrow.Schema, columns []string, given func(i int) bool) ([]string, error) {
	out := columns
	for i, c := range columns {
		f := schema.Field(ingest.Index(schema, c))
		mark := Identity(f)
		if given(i) {
			if err := notGenerated(f, "cannot insert a non-DEFAULT value into column %q"); err != nil {
				return nil, err
			}
		}
		switch {
		case mark == "" || head.Overriding == "SYSTEM":
		case head.Overriding == "USER":
			if len(out) > 0 && &out[0] == &columns[0] {
				out = append([]string(nil), columns...)
			}
			out[i] = ""
		case mark == IdentityAlways && given(i):
			e := sqlerror.New("428C9", "cannot insert a non-DEFAULT value into column %q", f.Name).
				WithHint("Use OVERRIDING SYSTEM VALUE to override.")
			e.DetailText = fmt.Sprintf("Column %q is an identity column defined as GENERATED ALWAYS.", f.Name)
			if i < len(head.ColumnsAt) {
				e.At = head.ColumnsAt[i]
			}
			return nil, e
		}
	}
	return out, nil
}

// MayUpdate is an error if a column cannot be given a value by UPDATE.
func MayUpdate(f arrow.Field) error {
	if err := notGenerated(f, "column %q can only be updated to DEFAULT"); err != nil {
		return err
	}
	if Identity(f) != IdentityAlways {
		return nil
	}
	e := sqlerror.New("428C9", "column %q can only be updated to DEFAULT", f.Name)
	e.DetailText = fmt.Sprintf("Column %q is an identity column defined as GENERATED ALWAYS.", f.Name)
	return e
}
