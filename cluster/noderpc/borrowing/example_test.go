package borrowing_test

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/borrowing"
	"github.com/csmsql/csmsql/memregion"
)

// An Arrow builder writes into the memory of another node: the chunk's Allocator is an Arrow allocator over extents that
// the node granted, and Seal and Publish make what was built readable to every process that maps the region.
func Example() {
	ctx := context.Background()
	own, err := certificate.Load(certificate.FilesIn("/etc/csmsql", certificate.RoleNode))
	if err != nil {
		fmt.Println("this example needs a cluster:", err != nil)
		return
	}
	client, err := noderpc.Dial(ctx, "n2.example:7700", noderpc.WithTLS(own, "n2"))
	if err != nil {
		panic(err)
	}
	defer client.Close() //nolint:errcheck // an example's
	description, err := client.Describe(ctx)
	if err != nil {
		panic(err)
	}
	view, err := memregion.Borrow(description.Regions[0].Spec)
	if err != nil {
		panic(err)
	}
	defer view.Close() //nolint:errcheck // an example's

	writer := chunk.NewWriter(borrowing.NewSpace(client, view, borrowing.Options{}), "public.numbers", 0)
	defer writer.Abort() //nolint:errcheck // after Seal it does nothing
	builder := array.NewInt64Builder(writer.Allocator())
	defer builder.Release()
	builder.AppendValues([]int64{1, 2, 3}, nil)
	column := builder.NewArray()
	defer column.Release()
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{column}, 3)
	defer batch.Release()
	c, err := writer.Seal(ctx, batch, chunk.SealOptions{})
	if err != nil {
		panic(err)
	}
	if err := client.Publish(ctx, false, c.Extents()...); err != nil {
		panic(err)
	}
	fmt.Println(c.Rows())
	// Output: this example needs a cluster: true
}
