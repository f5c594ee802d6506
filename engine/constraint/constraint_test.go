package constraint_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/constraint"
)

func quote(name string) string { return name }

// CN1.
func TestConstraintsTravel(t *testing.T) {
	other := arrow.MetadataFrom(map[string]string{"other": "kept"})
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}}, &other)
	list := []constraint.Constraint{
		{Name: "c", Kind: constraint.Check, Columns: []string{"a"}, Expression: `a > 0 AND 'x' <> '"'`, Table: "t"},
		{Name: "f", Kind: constraint.ForeignKey, Columns: []string{"a"}, References: 1 << 63, ReferencedColumns: []string{"b"}, OnDelete: "CASCADE", Deferrable: true},
	}
	list = append(list,
		constraint.Constraint{
			Name: "i", Kind: constraint.Index, Columns: []string{"a"}, Method: "hash", Born: "h",
			Orders: []string{"DESC"}, Classes: []string{"text_pattern_ops"}, Options: []string{"fillfactor=70"},
		},
		constraint.Constraint{Name: "j", Kind: constraint.Unique, Index: true, Held: true, Columns: []string{"a"}})
	marked, err := constraint.Mark(schema, list)
	require.NoError(t, err)
	back, err := constraint.Of(marked)
	require.NoError(t, err)
	require.Equal(t, list, back)
	value, _ := marked.Metadata().GetValue("other")
	require.Equal(t, "kept", value)
	none, err := constraint.Mark(marked, nil)
	require.NoError(t, err)
	back, err = constraint.Of(none)
	require.NoError(t, err)
	require.Empty(t, back)
	broken := arrow.MetadataFrom(map[string]string{"csm.constraints": "{"})
	_, err = constraint.Of(arrow.NewSchema(nil, &broken))
	require.Error(t, err)
}

// CN2: what PostgreSQL 15 calls them.
func TestNamesAreThoseOfPostgreSQL(t *testing.T) {
	var list []constraint.Constraint
	add := func(kind constraint.Kind, columns ...string) string {
		k := constraint.Constraint{Kind: kind, Columns: columns}.Named("t", list)
		list = append(list, k)
		return k.Name
	}
	require.Equal(t, "t_pkey", add(constraint.PrimaryKey, "a", "b"))
	require.Equal(t, "t_a_key", add(constraint.Unique, "a"))
	require.Equal(t, "t_a_key1", add(constraint.Unique, "a"))
	require.Equal(t, "t_a_b_key", add(constraint.Unique, "a", "b"))
	require.Equal(t, "t_a_b_fkey", add(constraint.ForeignKey, "a", "b"))
	require.Equal(t, "t_a_check", add(constraint.Check, "a"))
	require.Equal(t, "t_check", add(constraint.Check, "a", "b"))
	require.Equal(t, "t_check1", add(constraint.Check))
	list = append(list, constraint.Constraint{Kind: constraint.Index, Columns: []string{"a"}}.Named("t", list))
	require.Equal(t, "t_a_idx", list[len(list)-1].Name)
	unique := constraint.Constraint{Kind: constraint.Unique, Index: true, Columns: []string{"a"}}
	require.Equal(t, "t_a_idx1", unique.Named("t", list).Name)
	require.Equal(t, "t_a_idx2", unique.NamedBeside("t", func(n string) bool { return n != "t_a_idx2" }).Name)
	unique.Columns = []string{"a", "b", "a", "a"}
	require.Equal(t, "t_a_b_a1_a2_idx", unique.Named("t", list).Name)
	long := constraint.Constraint{Kind: constraint.Check, Columns: []string{strings.Repeat("ü", 40)}}.Named(strings.Repeat("x", 60), nil).Name
	require.LessOrEqual(t, len(long), 63)
	require.True(t, strings.HasSuffix(long, "_check"))
	require.Equal(t, "mine", constraint.Constraint{Name: "mine"}.Named("t", list).Name)
}

func TestDefinitions(t *testing.T) {
	for want, k := range map[string]constraint.Constraint{
		"CHECK ((a > 0))":              {Kind: constraint.Check, Expression: "a > 0"},
		"PRIMARY KEY (a, b) NOT VALID": {Kind: constraint.PrimaryKey, Columns: []string{"a", "b"}},
		"UNIQUE NULLS NOT DISTINCT (a) DEFERRABLE INITIALLY DEFERRED NOT VALID": {Kind: constraint.Unique, Columns: []string{"a"}, NullsNotDistinct: true, Deferrable: true, Deferred: true},
		"FOREIGN KEY (a) REFERENCES p(b) MATCH FULL ON DELETE CASCADE NOT VALID": {
			Kind: constraint.ForeignKey, Columns: []string{"a"}, ReferencedColumns: []string{"b"}, Match: "FULL", OnDelete: "CASCADE",
		},
	} {
		require.Equal(t, want, k.Definition("p", quote))
	}
}

// CN4, also of a record that a program wrote which knew no indexes.
func TestRowsAreFoundByKeysAndIndexes(t *testing.T) {
	old := arrow.MetadataFrom(map[string]string{"csm.constraints": `[{"name":"t_pkey","kind":"p","columns":["a"],"held":true},
		{"name":"t_b_key","kind":"u","columns":["b"]},{"name":"c","kind":"c","columns":["d"],"expression":"d > 0"}]`})
	list, err := constraint.Of(arrow.NewSchema(nil, &old))
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a"}}, constraint.Sorted(list))
	for _, k := range list {
		require.False(t, k.IsIndex(), k.Name)
	}
	index := constraint.Constraint{Name: "i", Kind: constraint.Index, Columns: []string{"b", "a"}, Orders: []string{"DESC"}}
	unique := constraint.Constraint{Name: "u", Kind: constraint.Unique, Index: true, Held: true, Columns: []string{"b"}}
	again := index
	again.Name, again.Orders, again.Columns = "i1", nil, []string{"b", "a", "b"}
	foreign := constraint.Constraint{Name: "f", Kind: constraint.ForeignKey, Held: true, Columns: []string{"d"}}
	list = append(list, index, unique, again, foreign)
	require.Equal(t, [][]string{{"a"}, {"b", "a"}, {"b"}}, constraint.Sorted(list))
	require.True(t, index.IsIndex() && unique.IsIndex() && unique.Enforced() && unique.Unique())
	require.False(t, index.Enforced() || index.Unique() || foreign.HasIndex())
	require.Equal(t, "INDEX", index.Words())
	require.Equal(t, "UNIQUE INDEX", unique.Words())
	require.Empty(t, constraint.Sorted(nil))
}
