package lineage_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/lineage"
)

// LG2.
func TestOriginsAreReadAsTheyWereWritten(t *testing.T) {
	for _, o := range []*lineage.Origin{
		{Files: []lineage.File{{Path: "/a b.csv", Node: "n", Bytes: 7, Modified: time.Unix(5, 6).UTC(), Call: "read_csv('/a b.csv')", Columns: []string{"a"}, Rows: 2}}, Rows: 2},
		{Generated: &lineage.Generated{Table: "lineitem", ScaleFactor: 0.01, Step: 500}, Rows: 60175},
		{Query: &lineage.Query{Text: "SELECT\n 1", Tables: []lineage.Table{{ID: 1, Name: "public.t", Version: 3}}, Sum: 1 << 63}, Columns: []string{"a"}, Parts: []int{1, 0, 2}, Rows: 1},
	} {
		again, err := lineage.Decode(o.Encode())
		require.NoError(t, err)
		require.Equal(t, o, again)
	}
	require.Empty(t, (*lineage.Origin)(nil).Encode())
	for _, bad := range []string{"", "{}", "x", `{"generated":{"table":"a"},"query":{"text":"b"},"rows":1}`, `{"generated":{"table":"a"},"rows":1,"later":true}`,
		`{"generated":{"table":"a"},"rows":1,"parts":[1]}`, `{"generated":{"table":"a"},"rows":1,"columns":["a"]}`} {
		_, err := lineage.Decode(bad)
		require.Error(t, err, bad)
	}
}

// LG3.
func TestFilesAreNotTrusted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("abc"), 0o600))
	f, err := lineage.Look("n", path)
	require.NoError(t, err)
	require.NoError(t, f.Unchanged())
	require.False(t, f.Touched())
	require.NoError(t, os.Chtimes(path, time.Time{}, f.Modified.Add(time.Hour)))
	require.NoError(t, f.Unchanged(), "its rows decide")
	require.True(t, f.Touched())
	require.NoError(t, os.WriteFile(path, []byte("abcd"), 0o600))
	var changed *lineage.ChangedError
	require.ErrorAs(t, f.Unchanged(), &changed)
	require.Equal(t, path+" was changed: it has 4 bytes and had 3", changed.Error())
	require.NoError(t, os.Remove(path))
	require.ErrorIs(t, f.Unchanged(), os.ErrNotExist)
	_, err = lineage.Look("n", filepath.Dir(path))
	require.ErrorContains(t, err, "no regular file")
}

// LG1, LG3: a file that was touched while it was read is no origin, nor is what no file is.
func TestSourcesAreKnownForCertain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(path, []byte("1\n"), 0o600))
	call := func(file string) (string, error) { return "read_csv('" + file + "')", nil }
	whole := lineage.Open("n", path, true, []string{"a"}, call)
	o := whole.Origin(1)
	require.NotNil(t, o)
	require.Equal(t, []string{"a"}, o.Files[0].Columns)
	require.EqualValues(t, 1, o.Files[0].Rows)
	require.True(t, o.Files[0].SQL)

	require.Nil(t, lineage.Open("n", filepath.Join(filepath.Dir(path), "*.csv"), false, nil, nil).Origin(1))
	require.Nil(t, lineage.OfFiles([]*lineage.Source{whole, lineage.Unknown()}, 2))
	touched := lineage.Open("n", path, false, nil, nil)
	require.NoError(t, os.WriteFile(path, []byte("1\n2\n"), 0o600))
	require.Nil(t, touched.Origin(2))
}
