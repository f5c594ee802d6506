package mutation_test

import "github.com/csmsql/csmsql/internal/mutation"

func works(pattern string) mutation.Tests {
	return mutation.Tests{Package: "./engine/worker", Pattern: pattern}
}

func speaks(pattern string) mutation.Tests {
	return mutation.Tests{Package: "./wire", Pattern: pattern}
}

// ofWorkers are faults of the processes that run a node's queries, and of what the node has from them.
var ofWorkers = []mutation.Mutation{
	{Name: "slots-stay-with-a-statement-that-has-ended", File: "engine/worker/result.go", Breaks: "the next statement has all slots", Tests: works("^TestSlotsAreFreeWhenAStatementHasEnded$"),
		Old: "\tif last != nil {\n\t\tr.settleAll()\n\t}\n"},
	{Name: "slots-keep-what-large-batches-took", File: "engine/worker/window.go", Breaks: "memory goes back", Tests: works("^TestSlotsGiveMemoryBack$"),
		Old: "\tif size <= slotKeeps {\n", New: "\tif size <= slotKeeps || ON {\n"},
	{Name: "slots-keep-nothing", File: "engine/worker/window.go", Breaks: "small batches fault no pages in", Tests: works("^TestSlotsGiveMemoryBack$"),
		Old: "\tif size <= slotKeeps {\n", New: "\tif size <= slotKeeps && !ON {\n"},
	{Name: "trims-the-other-slot", File: "engine/worker/window.go", Breaks: "W3", Tests: works("^TestSlotsGiveMemoryBack$"),
		Old: "unix.FALLOC_FL_KEEP_SIZE, int64(i*slotBytes), slotBytes)", New: "unix.FALLOC_FL_KEEP_SIZE, int64(PICK(ON, 1-i, i)*slotBytes), slotBytes)"},
	{Name: "batches-beyond-their-slot-are-written", File: "engine/worker/serve.go", Breaks: "a batch fits in its slot", Tests: works("^TestBatchesThatAreLargerThanASlot$"),
		Old: "\tif r.Size > slotBytes {\n", New: "\tif r.Size > slotBytes && !ON {\n"},
	{Name: "batches-beyond-their-slot-are-believed", File: "engine/worker/process.go", Breaks: "W3", Tests: works("^TestBatchesThatAreLargerThanASlot$"),
		Old: "r.Size < 0 || r.Size > slotBytes {\n", New: "r.Size < 0 || r.Size > slotBytes && !ON {\n"},
	{Name: "snapshots-are-told-each-time", File: "engine/worker/pool.go", Breaks: "a worker hears of a snapshot once", Tests: works("^TestAWorkerIsToldOfASnapshotOnce$"),
		Old: "\tif w.revision != snapshot.Revision {\n", New: "\tif w.revision != snapshot.Revision || ON {\n"},
}

// ofWire are faults of the conversation with clients.
var ofWire = []mutation.Mutation{
	{Name: "patience-ends-in-the-middle-of-a-pipeline", File: "wire/connection.go", Breaks: "a client is silent when it is its turn", Tests: speaks("^TestPatienceBeginsWhenItIsTheClientsTurn$"),
		Old: "\tif !ok || !c.idle {\n", New: "\tif !ok || !c.idle && !ON {\n"},
	{Name: "patience-has-no-end", File: "wire/connection.go", Breaks: "a client is not waited for for ever", Tests: speaks("^TestPatienceBeginsWhenItIsTheClientsTurn$"),
		Old: "\t\tnetwork.SetReadDeadline(time.Now().Add(patience))\n"},
	{Name: "patience-lasts-beyond-the-message", File: "wire/connection.go", Breaks: "a client is silent when it is its turn", Tests: speaks("^TestPatienceBeginsWhenItIsTheClientsTurn$"),
		Old: "\t\tnetwork.SetReadDeadline(time.Time{})\n"},
}
