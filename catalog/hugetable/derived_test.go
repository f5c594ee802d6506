package hugetable_test

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/hugetable"
)

// H1: a table that holds a query's rows has a format that programs which would change them refuse, whatever else it has.
func TestTablesOfQueriesAreRefusedByOlderPrograms(t *testing.T) {
	meta := arrow.NewMetadata([]string{hugetable.QueryKey}, []string{"SELECT 1 AS i"})
	columns := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, &meta)
	for _, retained := range []hugetable.Retention{{}, {Versions: 3}} {
		table := hugetable.Table{ID: 7, Name: hugetable.TableName{Schema: "s", Name: "t"}, Columns: columns, Retention: retained}
		v, _, err := hugetable.NewVersion(table, hugetable.NewSource(&pages{data: map[hugetable.PageID][]byte{}}, 0)).Seal(ctx, 1)
		require.NoError(t, err)
		record, err := v.Encode()
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(record, number(1, 9)))
		read, err := hugetable.Decode(record, nil)
		require.NoError(t, err)
		require.Equal(t, retained, read.Table().Retention)
		for former := range int64(8) {
			_, err := hugetable.Decode(append(bytes.Clone(record), number(1, former+1)...), nil)
			require.Error(t, err, former+1)
		}
	}
}
