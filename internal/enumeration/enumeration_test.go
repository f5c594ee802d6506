package enumeration_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/internal/enumeration"
)

func label(text string, code uint8, order float32) enumeration.Label {
	return enumeration.Label{Text: text, Code: code, Order: order, ID: uint64(code) + 100}
}

// moods has its labels in another order than their codes.
func moods(t *testing.T) *enumeration.Type {
	t.Helper()
	is, err := enumeration.New(17, "public", "mood", []enumeration.Label{
		label("sad", 0, 1), label("meh", 3, 1.5), label("it's ok", 1, 2), label("happy", 2, 3),
	})
	require.NoError(t, err)
	return is
}

func TestTypeReadsItsOwnWords(t *testing.T) {
	is := moods(t)
	words := is.Words()
	require.Equal(t, []string{"sad", "meh", "it's ok", "happy"}, words[:4])
	require.True(t, enumeration.IsMark(words[4]))
	found := enumeration.OfWords(words)
	require.Equal(t, uint64(17), found.Number())
	require.Equal(t, "mood", found.TypeName())
	require.Equal(t, words, found.Words())
	require.Nil(t, enumeration.OfWords(words[:4]), "an ENUM of DuckDB's own")
	require.Nil(t, enumeration.OfWords(nil))
	require.Equal(t, "mood", enumeration.OnlyOne("CAST(x AS "+is.SQL()+")").TypeName())
	require.Nil(t, enumeration.OnlyOne("CAST(x AS text)"))
	other, err := enumeration.New(18, "it's", `a "b"`, nil)
	require.NoError(t, err)
	require.Equal(t, `a "b"`, enumeration.OnlyOne(other.SQL()).TypeName())
	require.Nil(t, enumeration.OnlyOne(is.SQL()+other.SQL()))
}

// TestCodesMeanLabels attacks EN1 in one state: places and texts are those of the codes, and what is no code is no label.
func TestCodesMeanLabels(t *testing.T) {
	is := moods(t)
	for place, l := range is.Labels() {
		require.Equal(t, uint8(place), is.Places()[l.Code])
		text, ok := is.Text(l.Code)
		require.True(t, ok)
		code, ok := is.Code(text)
		require.True(t, ok)
		require.Equal(t, l.Code, code)
	}
	for code := 4; code < 256; code++ {
		_, ok := is.Text(uint8(code))
		require.False(t, ok, "damaged bytes are no label")
		require.Equal(t, uint8(4), is.Places()[code], "they show the mark")
	}
	_, ok := is.Code("angry")
	require.False(t, ok)
	require.Equal(t, `invalid input value for enum mood: "angry"`, is.Refusal("angry"))
}

func TestTypesThatAreNone(t *testing.T) {
	long := strings.Repeat("x", enumeration.LabelBytes+1)
	many := make([]enumeration.Label, enumeration.LabelsMost+1)
	for i := range many {
		many[i] = label(fmt.Sprint(i), uint8(i), float32(i))
	}
	for name, labels := range map[string][]enumeration.Label{
		"a text twice": {label("a", 0, 1), label("a", 1, 2)}, "a code twice": {label("a", 0, 1), label("b", 0, 2)},
		"out of order": {label("a", 0, 2), label("b", 1, 1)}, "too long": {label(long, 0, 1)}, "too many": many,
		"no text": {label("a\x00", 0, 1)}, "no UTF-8": {label("\xff", 0, 1)},
	} {
		_, err := enumeration.New(1, "public", "t", labels)
		require.Error(t, err, name)
	}
	_, err := enumeration.New(0, "public", "t", nil)
	require.Error(t, err)
	is, err := enumeration.New(1, "public", "t", many[:enumeration.LabelsMost])
	require.NoError(t, err)
	require.Len(t, is.Words(), 255, "with the mark a byte counts them")
	require.NotContains(t, is.Words()[:254], is.Words()[254], "EN2")
}

func TestTypesAreDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfNDistinct(rapid.StringN(0, 20, enumeration.LabelBytes).Filter(func(s string) bool {
			return !strings.ContainsRune(s, 0)
		}), 0, 20, rapid.ID).Draw(t, "texts")
		codes := rapid.Permutation([]uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 254}).Draw(t, "codes")
		var labels []enumeration.Label
		for i, text := range texts {
			labels = append(labels, label(text, codes[i], float32(i)+0.5))
		}
		is, err := enumeration.New(rapid.Uint64Min(1).Draw(t, "number"), rapid.String().Draw(t, "schema"), rapid.StringN(1, 9, -1).Draw(t, "name"), labels)
		require.NoError(t, err)
		again, err := enumeration.Decode(is.Serialize())
		require.NoError(t, err)
		require.Equal(t, is.Serialize(), again.Serialize())
		require.ElementsMatch(t, is.Labels(), again.Labels())
		read := enumeration.OfWords(is.Words())
		require.NotNil(t, read)
		require.Equal(t, is.TypeName(), read.TypeName())
		marked := enumeration.Of(arrow.Field{Type: arrow.BinaryTypes.String, Metadata: is.Mark()})
		require.Equal(t, is.Number(), marked.Number())
		require.Equal(t, is.Number(), enumeration.OnlyOne("SELECT 1, "+is.SQL()).Number())
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"id":1,"schema":"public","name":"mood","labels":[{"text":"a","code":0,"order":1}]}`)
	f.Add(`{"id":1,"name":"x","labels":[{"text":"a"},{"text":"a"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		is, err := enumeration.Decode(text)
		if err != nil {
			return
		}
		again, err := enumeration.Decode(is.Serialize())
		require.NoError(t, err)
		require.Equal(t, is.Words(), again.Words())
	})
}

func TestNamesInTexts(t *testing.T) {
	require.Equal(t, "csm_type__17", enumeration.NameOf(17))
	for word, want := range map[string]uint64{"csm_type__17": 17, "csm_type__": 0, "csm_type__x": 0, "mood": 0} {
		number, ok := enumeration.Named(word)
		require.Equal(t, want != 0, ok, word)
		require.Equal(t, want, number, word)
	}
	for text, want := range map[string]bool{
		"'a'::csm_type__17": true, "CAST('a' AS csm_type__17)": true, "csm_type__170, csm_type__17": true,
		"csm_type__170": false, "csm_type__1": false, "": false,
	} {
		require.Equal(t, want, enumeration.Calls(text, "csm_type__17"), text)
	}
	require.False(t, enumeration.Calls("csm_type__17", ""))
}

func TestColumnsOfTypes(t *testing.T) {
	is := moods(t)
	altered, err := enumeration.New(17, "public", "mood", append(slices.Clone(is.Labels()), label("more", 4, 9)))
	require.NoError(t, err)
	schema := func(of arrow.DataType) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int8}, {Name: "m", Type: of}}, nil)
	}
	require.True(t, enumeration.Has(schema(is)))
	require.True(t, enumeration.Has(schema(arrow.ListOf(is))))
	require.False(t, enumeration.Has(schema(arrow.BinaryTypes.String)))
	require.True(t, arrow.TypeEqual(is, altered), "one type in two states")
	require.True(t, enumeration.SameStates(schema(is), schema(is)))
	require.False(t, enumeration.SameStates(schema(is), schema(altered)))
	require.Equal(t, arrow.PrimitiveTypes.Uint8, enumeration.Stored(is))
	require.Equal(t, arrow.BinaryTypes.String, enumeration.Stored(arrow.BinaryTypes.String))
}
