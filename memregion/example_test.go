package memregion_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/csmsql/csmsql/memregion"
)

// A lender makes a region and puts bytes into it; a borrower, usually another process, maps the same region and reads them where they lie.
func Example() {
	directory, err := os.MkdirTemp("", "region-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(directory)

	const capacity = 64 << 20
	base, err := memregion.ChooseBase(nil, capacity, "node 1")
	if err != nil {
		panic(err)
	}
	spec := memregion.Spec{
		ID: 1, Base: base, Capacity: capacity, Fabric: memregion.FabricFile, Path: filepath.Join(directory, "region"),
	}
	lent, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{})
	if err != nil {
		panic(err)
	}
	extent, err := lent.Allocate("table lineitem", 10_000)
	if err != nil {
		panic(err)
	}
	copy(lent.Bytes(extent), "bytes that lie once")

	view, err := memregion.Borrow(spec)
	if err != nil {
		panic(err)
	}
	if err := view.Check(extent); err != nil {
		panic(err)
	}
	memory, err := view.Bytes(extent)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d bytes: %s\n", len(memory), memory[:19])

	fmt.Println(view.Close(), lent.Free("table lineitem", extent), lent.Remove())
	// Output:
	// 12288 bytes: bytes that lie once
	// <nil> <nil> <nil>
}
