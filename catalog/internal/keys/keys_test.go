package keys

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/hugetable"
)

// SK1.
func TestKeysAreApart(t *testing.T) {
	name := func(schema, name string) string { return Name(hugetable.TableName{Schema: schema, Name: name}) }
	all := []string{
		Format, Identity, Commit, Schema("a"), name("a", "b"), name("ab", ""), Table(1), View(1), Type(1), Reader(1), Columns(1),
		Counter(1), Set(1), Region(1), Node("a"), Presence("a"),
		Page(hugetable.PageID{}), OldPage(hugetable.PageID{}), Kept{1, 2}.Key(), Kept{2, 1}.Key(), Kept{0x12, 0}.Key(), OutcomePrefix + "a", Note(1, 2), Note(2, 1), Note(1, 3),
	}
	seen := map[string]bool{}
	for _, key := range all {
		require.False(t, seen[key], key)
		seen[key] = true
	}
	require.True(t, strings.HasPrefix(name("a", "b"), NamesOf("a")) && !strings.HasPrefix(name("ab", "b"), NamesOf("a")))
}

func TestKeptIsParsed(t *testing.T) {
	want := Kept{1 << 63, 77}
	got, err := ParseKept(strings.TrimPrefix(want.Key(), KeptPrefix))
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.True(t, Kept{1, 9}.Compare(Kept{2, 1}) < 0 && Kept{1, 9}.Compare(Kept{1, 10}) < 0 && want.Compare(got) == 0)
	for _, bad := range []string{"", "1", "x/1", "1/x", "1/2/3"} {
		_, err := ParseKept(bad)
		require.Error(t, err, bad)
	}
}

func TestNotesAreParsed(t *testing.T) {
	id, number, is := ParseNote(Note(1<<63, 7))
	require.True(t, is)
	require.EqualValues(t, 7, number)
	require.Equal(t, hugetable.TableID(1<<63), id)
	for _, other := range []string{"", Table(1), Kept{1, 2}.Key(), "view/1/2", Table(1) + "/", Table(1) + "/x", TablePrefix + "/1"} {
		_, _, is := ParseNote(other)
		require.False(t, is, other)
	}
}

func TestNamesThatAreNone(t *testing.T) {
	require.Empty(t, Wrong(strings.Repeat("x", NameBytesMost)))
	for _, bad := range []string{"", strings.Repeat("x", NameBytesMost+1), "a\x00b"} {
		require.NotEmpty(t, Wrong(bad))
	}
}
