package catalog_test

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/enumeration"
)

var typeE = catalog.TableName{Schema: "public", Name: "e"}

func createE(tx *catalog.Transaction) error {
	_, err := tx.CreateType(ctx, &catalog.UserType{Name: typeE}, "x", "y")
	return err
}

// redefineE gives the type another label.
func redefineE(tx *catalog.Transaction) error {
	is, _ := tx.Contents().Type(typeE)
	next := &catalog.UserType{ID: is.ID, Name: is.Name, CreatedAt: is.CreatedAt}
	next.Labels = append(slices.Clone(is.Labels), enumeration.Label{Text: "z", Code: 2, Order: 3, ID: 999})
	return tx.RedefineType(typeE, next)
}

// ofE makes table a with a column of the type.
func ofE(tx *catalog.Transaction) error {
	is, ok := tx.Contents().Type(typeE)
	if !ok {
		return catalog.ErrUndefinedType
	}
	tx.Reads(typeE)
	columns := arrow.NewSchema([]arrow.Field{{Name: "m", Type: is.Of(), Nullable: true}}, nil)
	_, err := tx.CreateTable(ctx, catalog.TableName{Schema: "public", Name: "of_e"}, columns, catalog.TableOptions{})
	return err
}

// TestTypesAndWhatHasThem attacks K10 for types: a table of one, and its end or another state, at the same time.
func TestTypesAndWhatHasThem(t *testing.T) {
	renamed := func(tx *catalog.Transaction) error {
		is, _ := tx.Contents().Type(typeE)
		return tx.RedefineType(typeE, &catalog.UserType{ID: is.ID, Name: catalog.TableName{Schema: "public", Name: "f"}, Labels: is.Labels})
	}
	drop := func(tx *catalog.Transaction) error { return tx.DropType(typeE) }
	for name, c := range map[string]struct {
		first, second func(*catalog.Transaction) error
		state         string
	}{
		"dropped below":      {ofE, drop, "40001"},
		"altered below":      {ofE, redefineE, "40001"},
		"made over the gone": {drop, ofE, "40001"},
		"made over altered":  {redefineE, ofE, "40001"},
		"altered twice":      {redefineE, redefineE, "40001"},
		"altered and gone":   {redefineE, drop, "40001"},
		"renamed twice":      {renamed, renamed, "40001"},
		"another table":      {redefineE, func(tx *catalog.Transaction) error { return tx.Truncate(tableA) }, ""},
	} {
		w := newWorld(t, store.Limits{})
		w.fill(1)
		w.must(createE)
		early := w.snapshot(catalog.Holder{})
		w.must(c.first)
		tx := w.catalog.Begin(early)
		require.NoError(t, c.second(tx), name)
		if err := tx.Commit(ctx); c.state != "" {
			requireState(t, err, c.state)
		} else {
			require.NoError(t, err, name)
		}
		tx.Rollback()
		early.Close()
	}
}

func TestTypesAreKept(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.must(createE)
	w.must(ofE)
	tx := w.catalog.Begin(w.snapshot(catalog.Holder{}))
	_, err := tx.CreateType(ctx, &catalog.UserType{Name: typeE})
	requireState(t, err, "42710")
	_, err = tx.CreateTable(ctx, typeE, columns, catalog.TableOptions{})
	requireState(t, err, "42710")
	_, err = tx.CreateType(ctx, &catalog.UserType{Name: catalog.TableName{Schema: "nosuch", Name: "e"}})
	requireState(t, err, "3F000")
	_, err = tx.CreateType(ctx, &catalog.UserType{Name: catalog.TableName{Schema: "public", Name: "twice"}}, "a", "a")
	require.Error(t, err)
	requireState(t, tx.DropType(tableA), "42704")
	tx.Rollback()

	w.reopen() // the record is read again
	s := w.snapshot(catalog.Holder{})
	is, ok := s.Type(typeE)
	require.True(t, ok)
	require.Equal(t, []string{"x", "y"}, is.Of().Words()[:2])
	byID, ok := s.TypeOf(is.ID)
	require.True(t, ok)
	require.Same(t, is, byID)
	record, err := w.catalog.Record(s)
	require.NoError(t, err)
	received, err := catalog.DecodeSnapshotRecord(record.Encode())
	require.NoError(t, err)
	require.Equal(t, record.Types, received.Types)
	require.Len(t, received.Types, 1)
	s.Close()
	w.must(redefineE)
	w.must(func(tx *catalog.Transaction) error {
		return tx.DropTable(catalog.TableName{Schema: "public", Name: "of_e"})
	})
	w.must(func(tx *catalog.Transaction) error { return tx.DropType(typeE) })
	w.must(createE) // the name is free
}
