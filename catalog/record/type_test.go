package record_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/internal/enumeration"
)

func mood() *record.Type {
	return &record.Type{
		ID: 17, Name: hugetable.TableName{Schema: "public", Name: "mood"}, Comment: "how one feels",
		Labels: []enumeration.Label{
			{Text: "", Code: 0, Order: -1.5, ID: 18}, {Text: "ok", Code: 2, Order: 2.25, ID: 20}, {Text: "hé", Code: 1, Order: 3, ID: 19},
		},
		CreatedAt: time.UnixMicro(1_700_000_000_123_456).UTC(),
	}
}

// TestTypesAreDecoded attacks RE1 for types.
func TestTypesAreDecoded(t *testing.T) {
	is := mood()
	require.NoError(t, is.Check())
	got, err := record.DecodeType(is.Encode())
	require.NoError(t, err)
	require.Equal(t, is, got)
	require.Equal(t, is.Of().Words(), got.Of().Words())

	for name, spoil := range map[string]func(*record.Type){
		"a text twice": func(t *record.Type) { t.Labels[1].Text = "" }, "a code twice": func(t *record.Type) { t.Labels[1].Code = 1 },
		"no order": func(t *record.Type) { t.Labels[1].Order = 4 }, "no name": func(t *record.Type) { t.Name.Name = "" },
		"no number": func(t *record.Type) { t.ID = 0 },
	} {
		damaged := mood()
		spoil(damaged)
		require.Error(t, damaged.Check(), name)
		_, err := record.DecodeType(damaged.Encode())
		require.Error(t, err, name)
	}
	_, err = record.DecodeType(nil)
	require.ErrorContains(t, err, "format 0")
}

func FuzzDecodeType(f *testing.F) {
	f.Add(mood().Encode())
	f.Add((&record.Type{ID: 1, Name: hugetable.TableName{Name: "e"}}).Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		is, err := record.DecodeType(data)
		if err != nil {
			require.Nil(t, is)
			return
		}
		again, err := record.DecodeType(is.Encode())
		require.NoError(t, err)
		require.Equal(t, is.Of().Serialize(), again.Of().Serialize())
	})
}
