package noderpc

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
)

// Operations are what a node of a cluster does for operators and for comparison; the engine implements it. The rules are
// those of Node.
type Operations interface {
	// Drain says that the node is to take no new chunks and no fragments (on), or may again.
	Drain(ctx context.Context, on bool) error
	// Chunk returns a chunk's descriptor as the catalog keeps it.
	Chunk(ctx context.Context, table catalog.TableName, chunk int64) (descriptor []byte, err error)
	// Table reads a whole table; the caller releases the reader. Rows are those of one snapshot.
	Table(ctx context.Context, table catalog.TableName) (array.RecordReader, error)
}
