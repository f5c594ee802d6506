package names

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
)

func emptyContents(t *testing.T) *catalog.Contents {
	snapshot, err := catalog.NewRemoteSnapshot(&catalog.SnapshotRecord{Schemas: []string{"public"}}, nil, catalog.RemoteOptions{})
	require.NoError(t, err)
	return snapshot.Contents
}

func table(t *testing.T, name string, columns *arrow.Schema) *catalog.TableVersion {
	v, err := catalog.Collect(catalog.TableName{Schema: "public", Name: name}, columns, nil)
	require.NoError(t, err)
	return v
}

func columns(names ...string) *arrow.Schema {
	var fields []arrow.Field
	for _, name := range names {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64})
	}
	return arrow.NewSchema(fields, nil)
}

// A commit that gives a table other rows is no work for names, and one table more is work for one, whatever there is
// beside them.
func TestFollowingLooksAtWhatChangedAlone(t *testing.T) {
	var said []string
	exec := func(sql string) error { said = append(said, sql); return nil }
	n := newShownNames("csmsql", exec, &viewWords{})
	contents, two := emptyContents(t), columns("a", "b")
	for i := range 3000 {
		contents = contents.With(table(t, fmt.Sprint("t", i), two))
	}
	require.NoError(t, n.follow(contents))
	require.Len(t, said, 3001, "and the schema")

	said, n.looked = nil, 0
	contents = contents.With(table(t, "t7", two))
	require.NoError(t, n.follow(contents))
	require.Empty(t, said)
	require.Equal(t, 1, n.looked)

	contents = contents.With(table(t, "one_more", two))
	require.NoError(t, n.follow(contents))
	require.Len(t, said, 1)
	require.Equal(t, 2, n.looked)
	require.NoError(t, n.follow(contents))
	require.Equal(t, 2, n.looked)
}

// What DuckDB could not do is tried again when the catalog moves on, also where nothing of it changed.
func TestWhatIsMissingIsTriedAgain(t *testing.T) {
	var said []string
	fails := true
	exec := func(sql string) error {
		said = append(said, sql)
		if fails && strings.Contains(sql, `"t1"`) && strings.Contains(sql, "CREATE") {
			return errors.New("no memory")
		}
		return nil
	}
	n := newShownNames("csmsql", exec, &viewWords{})
	left := 0
	n.leftOut = func(catalog.TableName, error) { left++ }
	contents := emptyContents(t)
	for i := range 3 {
		contents = contents.With(table(t, fmt.Sprint("t", i), columns("a")))
	}
	require.NoError(t, n.follow(contents))
	require.Equal(t, 1, left)
	require.Len(t, n.shapes, 2)
	contents = contents.With(table(t, "t2", columns("a")))
	require.NoError(t, n.follow(contents))
	require.Equal(t, 2, left)

	fails = false
	require.NoError(t, n.follow(contents))
	require.Len(t, n.shapes, 3)
	require.Empty(t, n.missing)
	said = nil
	require.NoError(t, n.follow(contents))
	require.Empty(t, said)
}

// An error on the way leaves the names to the next call, whole.
func TestFollowingGoesOnAfterAnError(t *testing.T) {
	has := map[string]bool{}
	fails := false
	exec := func(sql string) error {
		_, name, _ := strings.Cut(sql, `"public".`)
		name, _, _ = strings.Cut(name, " ")
		switch {
		case fails && strings.HasPrefix(sql, "DROP VIEW") && strings.Contains(sql, `"t2"`):
			return errors.New("interrupted")
		case strings.HasPrefix(sql, "DROP VIEW"):
			delete(has, name)
		case strings.Contains(sql, "CREATE OR REPLACE VIEW"):
			has[name] = true
		}
		return nil
	}
	n := newShownNames("csmsql", exec, &viewWords{})
	first, second := emptyContents(t), emptyContents(t)
	for i := range 4 {
		first = first.With(table(t, fmt.Sprint("t", i), columns("a")))
		second = second.With(table(t, fmt.Sprint("u", i), columns("a")))
	}
	require.NoError(t, n.follow(first))
	fails = true
	require.ErrorContains(t, n.follow(second), "interrupted")
	fails = false
	require.NoError(t, n.follow(second))
	require.Equal(t, map[string]bool{`"u0"`: true, `"u1"`: true, `"u2"`: true, `"u3"`: true}, has)
}

// A statement that sees what the names have been brought to already does not wait while they are brought farther.
func TestNamesThatAreThereAreNotWaitedFor(t *testing.T) {
	snapshot, err := catalog.NewRemoteSnapshot(&catalog.SnapshotRecord{Revision: 7, Schemas: []string{"public", "more"}}, nil, catalog.RemoteOptions{})
	require.NoError(t, err)
	var m Mirror
	m.shown = newShownNames("csmsql", func(string) error { return nil }, &m.words)
	m.reach(0)
	require.False(t, m.Has("more"))
	require.NoError(t, m.Follow(snapshot.Contents))
	require.Equal(t, snapshot.Contents.Revision(), m.Reached())
	m.mu.Lock()
	defer m.mu.Unlock()
	require.NoError(t, m.Follow(snapshot.Contents))
	require.True(t, m.Has("more"))
	require.False(t, m.Has("less"))
}
