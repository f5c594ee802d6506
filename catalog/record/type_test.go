package record_test

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
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

	for name, corrupt := range map[string]func(*record.Type){
		"a text twice": func(t *record.Type) { t.Labels[1].Text = "" }, "a code twice": func(t *record.Type) { t.Labels[1].Code = 1 },
		"no order": func(t *record.Type) { t.Labels[1].Order = 4 }, "no name": func(t *record.Type) { t.Name.Name = "" },
		"no number": func(t *record.Type) { t.ID = 0 },
	} {
		damaged := mood()
		corrupt(damaged)
		require.Error(t, damaged.Check(), name)
		_, err := record.DecodeType(damaged.Encode())
		require.Error(t, err, name)
	}
	_, err = record.DecodeType(nil)
	require.ErrorContains(t, err, "format 0")
}

// A domain is read as it was written, and refused by programs that do not know any: its format is another one.
func TestDomainsAreDecoded(t *testing.T) {
	meta := arrow.NewMetadata([]string{"k"}, []string{"v"})
	columns := arrow.NewSchema([]arrow.Field{{Name: "value", Type: arrow.PrimitiveTypes.Int32, Metadata: meta}}, &meta)
	domain := func() *record.Type {
		return &record.Type{ID: 17, Name: hugetable.TableName{Schema: "s", Name: "d"}, Domain: columns,
			CreatedAt: time.UnixMicro(1_700_000_000_123_456).UTC()}
	}
	is := domain()
	require.NoError(t, is.Check())
	require.Nil(t, is.Of())
	data := is.Encode()
	require.Equal(t, []byte{1 << 3, 2}, data[:2])
	got, err := record.DecodeType(data)
	require.NoError(t, err)
	require.True(t, columns.Equal(got.Domain) && got.Domain.Metadata().Equal(meta))
	require.Equal(t, data, got.Encode())
	for _, format := range []byte{1, 4} {
		_, err = record.DecodeType(append([]byte{1 << 3, format}, data[2:]...))
		require.ErrorContains(t, err, "format")
	}
	for name, corrupt := range map[string]func(*record.Type){
		"labels": func(t *record.Type) { t.Labels = mood().Labels }, "no name": func(t *record.Type) { t.Name.Name = "" },
		"no number": func(t *record.Type) { t.ID = 0 },
		"no column": func(t *record.Type) { t.Domain = arrow.NewSchema(nil, nil) },
	} {
		damaged := domain()
		corrupt(damaged)
		require.Error(t, damaged.Check(), name)
	}
}

func function() *record.Type {
	meta := arrow.NewMetadata([]string{"csm.function"}, []string{`{"text":"n + 1"}`})
	return &record.Type{ID: 9, Name: record.FunctionName("public", "more"), Comment: "said", CreatedAt: mood().CreatedAt,
		Function: arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
			{Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, &meta)}
}

// A function's record is of a format of its own, which programs that know none refuse.
func TestFunctionsAreDecoded(t *testing.T) {
	is := function()
	require.NoError(t, is.Check())
	require.Nil(t, is.Of())
	data := is.Encode()
	require.Equal(t, []byte{1 << 3, 3}, data[:2])
	got, err := record.DecodeType(data)
	require.NoError(t, err)
	require.True(t, is.Function.Equal(got.Function) && got.Function.Metadata().Equal(is.Function.Metadata()))
	require.Nil(t, got.Domain)
	require.Equal(t, data, got.Encode())
	for _, format := range []byte{1, 2, 4} {
		_, err = record.DecodeType(append([]byte{1 << 3, format}, data[2:]...))
		require.Error(t, err, format)
	}
	for name, corrupt := range map[string]func(*record.Type){
		"labels": func(t *record.Type) { t.Labels = mood().Labels }, "no name": func(t *record.Type) { t.Name.Name = "" },
		"no number": func(t *record.Type) { t.ID = 0 }, "a domain": func(t *record.Type) { t.Domain = t.Function },
		"no result": func(t *record.Type) { t.Function = arrow.NewSchema(nil, nil) },
	} {
		damaged := function()
		corrupt(damaged)
		require.Error(t, damaged.Check(), name)
	}
}

func FuzzDecodeType(f *testing.F) {
	made := function()
	require.NoError(f, made.Check())
	f.Add(made.Encode())
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
		if is.Domain != nil || is.Function != nil {
			require.Equal(t, is.Encode(), again.Encode())
			return
		}
		require.Equal(t, is.Of().Serialize(), again.Of().Serialize())
	})
}
