package constraint_test

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/constraint"
)

// What package mention reads of constraints is what is written here.
func TestConstraintsMention(t *testing.T) {
	name := catalog.TableName{Schema: "s", Name: "t"}
	for _, kind := range []constraint.Kind{constraint.Check, constraint.PrimaryKey, constraint.Unique, constraint.ForeignKey, constraint.Index} {
		for _, index := range []bool{false, kind == constraint.Unique} {
			k := constraint.Constraint{Name: "k", Kind: kind, Index: index, Deferrable: kind == constraint.Check, References: 7}
			columns, err := constraint.Mark(arrow.NewSchema(nil, nil), []constraint.Constraint{k})
			require.NoError(t, err)
			found := mention.Of(catalog.Table{ID: 5, Name: name, Columns: columns})
			has := func(m mention.Mention) bool { return slices.Contains(found, m) }
			named := mention.Mention{Kind: mention.Index, Name: catalog.TableName{Schema: "s", Name: "k"}}
			require.Equal(t, k.IsIndex() || k.Unique(), has(named), kind)
			require.Equal(t, kind == constraint.ForeignKey, has(mention.Mention{Kind: mention.Reference, Number: 7}), kind)
			require.Equal(t, k.Deferrable, has(mention.Mention{Kind: mention.Deferrable}), kind)
		}
	}
	f := constraint.InDomain(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64}, 9, "1")
	found := mention.Of(catalog.Table{ID: 5, Name: name, Columns: arrow.NewSchema([]arrow.Field{f}, nil)})
	require.Equal(t, []mention.Mention{{Kind: mention.Type, Number: 9}}, found)
}
