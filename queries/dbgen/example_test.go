package dbgen_test

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/queries/dbgen"
)

// The last three orders of scale factor 100, without the 149,999,997 before them.
func ExampleGenerator_Batch() {
	generator, err := dbgen.New(100)
	if err != nil {
		fmt.Println(err)
		return
	}
	first := generator.Units(dbgen.Orders) - 3
	orders, err := generator.Batch(context.Background(), memory.DefaultAllocator, dbgen.Orders, first, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Release()
	fmt.Println("orders:", orders.Column(0))
	fmt.Println("lines:", generator.RowsIn(dbgen.LineItem, first, 3))
	// Output:
	// orders: [599999974 599999975 600000000]
	// lines: 13
}
