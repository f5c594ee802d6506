package ingest_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/ingest"
)

func TestColumnsAreFoundAsSQLComparesNames(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String}, {Name: "B", Type: arrow.BinaryTypes.String}}, nil)
	require.Equal(t, 1, ingest.Index(schema, "b"))
	require.Equal(t, 0, ingest.Index(schema, "A"))
	require.Negative(t, ingest.Index(schema, "c"))
}
