package coherence_test

import (
	"context"
	"fmt"

	"github.com/csmsql/csmsql/coherence"
)

// A chunk is written once, published, read in place and given back.
func Example() {
	counters := &coherence.Counters{}
	home, err := coherence.NewHome(coherence.HomeConfig{Region: 1, Memory: newHeapMemory(4), Domain: "node-1", Counters: counters})
	if err != nil {
		panic(err)
	}
	grant, err := home.Grant("lineitem", home.Domain(), 11)
	if err != nil {
		panic(err)
	}
	defer func() { _ = grant.Abort() }() // does nothing once the grant is sealed
	clear(grant.Bytes()[copy(grant.Bytes(), "hello world"):])
	if err := grant.Clean(); err != nil {
		panic(err)
	}
	if err := grant.Seal(coherence.Seal{Length: 11, Checksum: 42}); err != nil {
		panic(err)
	}
	generation, where := grant.Generation(), grant.Range()
	if err := home.Publish(generation); err != nil {
		panic(err)
	}

	pinned := []coherence.Generation{generation}
	if err := home.Pin("node-1", pinned); err != nil {
		panic(err)
	}
	reader := coherence.NewReader(coherence.Coherent, nil, counters)
	data := home.Bytes(where)[:11]
	if err := reader.Acquire(context.Background(), 1, generation, data, nil); err != nil {
		panic(err)
	}
	fmt.Printf("generation %d: %s\n", generation, data)
	reader.Release(1, generation)
	if err := home.Unpin("node-1", pinned); err != nil {
		panic(err)
	}
	if err := home.Retire(generation); err != nil {
		panic(err)
	}
	fmt.Println("flushes not needed:", counters.SkippedFlushesByStep[coherence.StepClean].Load()+counters.SkippedFlushesByStep[coherence.StepAcquire].Load())
	fmt.Println("alive:", home.Generation(generation).State)
	// Output:
	// generation 1: hello world
	// flushes not needed: 2
	// alive: free
}
