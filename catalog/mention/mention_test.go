package mention_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/internal/enumeration"
)

var named = hugetable.TableName{Schema: "s", Name: "t"}

func table(id hugetable.TableID, marks map[string]string, fields ...arrow.Field) hugetable.Table {
	meta := arrow.MetadataFrom(marks)
	return hugetable.Table{ID: id, Name: named, Columns: arrow.NewSchema(fields, &meta)}
}

func TestWhatRecordsMention(t *testing.T) {
	moods, err := enumeration.New(11, "s", "mood", []enumeration.Label{{Text: "sad", ID: 12}})
	require.NoError(t, err)
	marked := func(name, key, value string) arrow.Field {
		return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Metadata: arrow.MetadataFrom(map[string]string{key: value})}
	}
	for name, of := range map[string]struct {
		table hugetable.Table
		want  []mention.Mention
	}{
		"nothing": {table: table(5, nil, arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64})},
		"constraints": {table(5, map[string]string{mention.Constraints: `[{"name":"t_pkey","kind":"p"},{"name":"t_a_idx","kind":"i"},
			{"name":"t_b_key","kind":"u"},{"name":"c","kind":"c","expression":"a > 0"},
			{"name":"f","kind":"f","references":7,"deferrable":true},{"name":"g","kind":"f"}]`}),
			[]mention.Mention{
				{Kind: mention.Index, Name: hugetable.TableName{Schema: "s", Name: "t_pkey"}},
				{Kind: mention.Index, Name: hugetable.TableName{Schema: "s", Name: "t_a_idx"}},
				{Kind: mention.Index, Name: hugetable.TableName{Schema: "s", Name: "t_b_key"}},
				{Kind: mention.Reference, Number: 7}, {Kind: mention.Deferrable},
				{Kind: mention.Reference, Number: 5},
			}},
		"check of a type": {table(5, map[string]string{mention.Constraints: `[{"name":"c","kind":"c","expression":"a = 'x'::csm_type__31"}]`}),
			[]mention.Mention{{Kind: mention.Type, Number: 31}}},
		"calls": {table(5, map[string]string{mention.Constraints: `[{"name":"c","kind":"c",
			"expression":"/*csm_calls csm_function__41 {}*/a"}]`}, marked("d", "csm.default",
			"/*csm_calls csm_function__7 csm_function__8 {}*/1")),
			[]mention.Mention{
				{Kind: mention.Function, Number: 41}, {Kind: mention.Function, Number: 7}, {Kind: mention.Function, Number: 8},
			}},
		"query": {table(5, map[string]string{hugetable.QueryKey: "SELECT 1"}), []mention.Mention{{Kind: mention.Query}}},
		"columns": {table(5, nil,
			arrow.Field{Name: "m", Type: moods}, marked("d", mention.Domain, "21"),
			marked("n", "csm.default", "csm_nextval__of(33) + csm_nextval__of(4) + length('sad'::csm_type__11)")),
			[]mention.Mention{
				{Kind: mention.Type, Number: 11}, {Kind: mention.Type, Number: 21}, {Kind: mention.Type, Number: 11},
				{Kind: mention.Sequence, Number: 33}, {Kind: mention.Sequence, Number: 4},
			}},
	} {
		require.Equal(t, of.want, mention.Of(of.table), name)
	}
}

// MN2: a table whose constraints cannot be read is found by everything.
func TestWhatCannotBeRead(t *testing.T) {
	of := func(id hugetable.TableID, constraints string) *hugetable.Version {
		return hugetable.NewVersion(table(id, map[string]string{mention.Constraints: constraints}), nil)
	}
	damaged, sound := of(1, `[{"name":`), of(2, `[{"name":"f","kind":"f","references":9}]`)
	index := mention.Collect([]*hugetable.Version{damaged, sound})
	require.Equal(t, []hugetable.TableID{1, 2}, index.To(mention.Mention{Kind: mention.Reference, Number: 9}))
	require.Equal(t, []hugetable.TableID{1}, index.To(mention.Mention{Kind: mention.Reference, Number: 8}))
	index = index.Changed(damaged, of(1, `[]`))
	require.Equal(t, []hugetable.TableID{2}, index.To(mention.Mention{Kind: mention.Reference, Number: 9}))
	require.Empty(t, index.Changed(sound, nil).To(mention.Mention{Kind: mention.Reference, Number: 9}))
}
