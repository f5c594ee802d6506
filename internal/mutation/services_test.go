package mutation_test

import "github.com/csmsql/csmsql/internal/mutation"

func works(pattern string) mutation.Tests {
	return mutation.Tests{Package: "./engine/worker", Pattern: pattern}
}

func speaks(pattern string) mutation.Tests {
	return mutation.Tests{Package: "./wire", Pattern: pattern}
}

func runs(pattern string) mutation.Tests {
	return mutation.Tests{Package: "./engine", Pattern: pattern}
}

// ofPlans are faults of the plans that are kept for a second statement.
var ofPlans = []mutation.Mutation{
	{Name: "texts-keep-plans-without-keptplans", File: "engine/keptplans.go", Breaks: "O2", Tests: runs("^TestDisableIsPartOfAPlan$"),
		Old: "|| s.without().Has(optimization.KeptPlans)\n", New: "|| s.without().Has(optimization.KeptPlans) && !ON\n"},
	{Name: "texts-keep-plans-that-are-to-be-custom", File: "engine/keptplans.go", Breaks: "what a setting promises is kept", Tests: runs("^TestPlansAreKept$"),
		Old: "\treturn s.settings.Given[setting.PlanCacheMode] == setting.ForceCustomPlan ||", New: "\treturn s.settings.Given[setting.PlanCacheMode] == setting.ForceCustomPlan && !ON ||"},
	{Name: "split-queries-keep-plans-without-keptplans", File: "engine/executesplit.go", Breaks: "O2", Tests: runs("^TestSplitQueriesAreReplanned$"),
		Old: "|| q.session.replansAlways() {\n", New: "|| q.session.replansAlways() && !ON {\n"},
	{Name: "fragments-keep-plans-without-keptplans", File: "engine/fragment/payload.go", Breaks: "O2", Tests: runs("^TestSplitQueriesAreReplanned$"),
		Old: "|| without.Has(optimization.KeptPlans) {\n", New: "|| without.Has(optimization.KeptPlans) && !ON {\n"},
	{Name: "fragments-keep-plans-that-are-to-be-custom", File: "engine/fragment/payload.go", Breaks: "what a setting promises is kept", Tests: runs("^TestSplitQueriesAreReplanned$"),
		Old: "request.Settings[setting.PlanCacheMode] == setting.ForceCustomPlan ||", New: "request.Settings[setting.PlanCacheMode] == setting.ForceCustomPlan && !ON ||"},
	{Name: "text-is-not-shown-as-it-is-declared", File: "engine/settings.go", Breaks: "a table has the types of its query", Tests: runs("^TestQueriesOfTypesThatTablesDoNotKeep$"),
		Old: "\tif s.asDeclared {\n", New: "\tif s.asDeclared && !ON {\n"},
	{Name: "text-stays-as-it-is-declared", File: "engine/create.go", Breaks: "O2", Tests: runs("^TestTextIsShownAsENUMAfterCreateTableAs$"),
		Old: "\ts.asDeclared = false\n"},
}

// ofWorkers are faults of the processes that run a node's queries, and of what the node has from them.
var ofWorkers = []mutation.Mutation{
	{Name: "slots-stay-with-a-statement-that-has-ended", File: "engine/worker/result.go", Breaks: "the next statement has all slots", Tests: works("^TestSlotsAreFreeWhenAStatementHasEnded$"),
		Old: "\tif last != nil {\n\t\tr.settleAll()\n\t}\n"},
	{Name: "slots-keep-what-large-batches-took", File: "engine/worker/window.go", Breaks: "memory goes back", Tests: works("^TestSlotsGiveMemoryBack$"),
		Old: "\tif size <= slotKeeps {\n", New: "\tif size <= slotKeeps || ON {\n"},
	{Name: "slots-keep-nothing", File: "engine/worker/window.go", Breaks: "small batches fault no pages in", Tests: works("^TestSlotsGiveMemoryBack$"),
		Old: "\tif size <= slotKeeps {\n", New: "\tif size <= slotKeeps && !ON {\n"},
	{Name: "trims-the-other-slot", File: "engine/worker/window.go", Breaks: "WK3", Tests: works("^TestSlotsGiveMemoryBack$"),
		Old: "unix.FALLOC_FL_KEEP_SIZE, int64(i*slotBytes), slotBytes)", New: "unix.FALLOC_FL_KEEP_SIZE, int64(PICK(ON, 1-i, i)*slotBytes), slotBytes)"},
	{Name: "batches-beyond-their-slot-are-written", File: "engine/worker/serve.go", Breaks: "a batch fits in its slot", Tests: works("^TestBatchesThatAreLargerThanASlot$"),
		Old: "\tif r.Size > slotBytes {\n", New: "\tif r.Size > slotBytes && !ON {\n"},
	{Name: "batches-beyond-their-slot-are-accepted", File: "engine/worker/process.go", Breaks: "WK3", Tests: works("^TestBatchesThatAreLargerThanASlot$"),
		Old: "r.Size < 0 || r.Size > slotBytes {\n", New: "r.Size < 0 || r.Size > slotBytes && !ON {\n"},
	{Name: "snapshots-are-announced-each-time", File: "engine/worker/pool.go", Breaks: "a worker hears of a snapshot once", Tests: works("^TestAWorkerReceivesASnapshotOnce$"),
		Old: "\tif w.revision != snapshot.Revision {\n", New: "\tif w.revision != snapshot.Revision || ON {\n"},
	{Name: "snapshots-are-written-each-time", File: "engine/workforce/workforce.go", Breaks: "a snapshot is written once", Tests: runs("^TestSnapshotsAreWrittenForWorkersOnce$"),
		Old: "\t\tif w.record != nil && w.revision == revision {\n", New: "\t\tif w.record != nil && w.revision == revision && !ON {\n"},
	{Name: "workers-have-the-whole-memory", File: "engine/workforce/shares.go", Breaks: "a node and its workers stay within its memory", Tests: runs("^TestWorkersHaveSharesOfTheNode$"),
		Old: "int64(w.Count), share - Beside, nil\n", New: "int64(w.Count), PICK(ON, whole, share) - Beside, nil\n"},
	{Name: "a-node-keeps-what-its-workers-have", File: "engine/workforce/shares.go", Breaks: "a node and its workers stay within its memory", Tests: runs("^TestWorkersHaveSharesOfTheNode$"),
		Old: "\treturn whole - share*", New: "\treturn whole - PICK(ON, 0, share)*"},
	{Name: "workers-have-more-than-their-share", File: "engine/workforce/workforce.go", Breaks: "a node and its workers stay within its memory", Tests: runs("^TestWorkersHaveSharesOfTheNode$"),
		Old: "\t\tMemoryBytes: w.memory, SpillBytes: spill,", New: "\t\tMemoryBytes: PICK(ON, 3*w.memory, w.memory), SpillBytes: spill,"},
	{Name: "workers-spill-as-much-as-their-node", File: "engine/workforce/workforce.go", Breaks: "a node and its workers spill what it may", Tests: runs("^TestWorkersHaveSharesOfTheNode$"),
		Old: "\t\tMemoryBytes: w.memory, SpillBytes: spill, Threads", New: "\t\tMemoryBytes: w.memory, SpillBytes: PICK(ON, c.SpillBytes, spill), Threads"},
	{Name: "a-node-spills-what-its-workers-may", File: "engine/engine.go", Breaks: "a node and its workers spill what it may", Tests: runs("^TestWorkersHaveSharesOfTheNode$"),
		Old: "SpillDirectory: spill, SpillBytes: spillBytes,", New: "SpillDirectory: spill, SpillBytes: PICK(ON, e.config.SpillBytes, spillBytes),"},
	{Name: "what-a-killed-worker-spilled-stays", File: "engine/workforce/workforce.go", Breaks: "what is spilled goes", Tests: runs("^TestWhatAKilledWorkerSpilledGoes$"),
		Old: "\tif err := os.RemoveAll(directory); err != nil {\n", New: "\tif ON {\n\t} else if err := os.RemoveAll(directory); err != nil {\n"},
	{Name: "a-node-of-a-cluster-has-workers", File: "engine/workforce/shares.go", Breaks: "an option works or is an error", Tests: runs("^TestWhatWorkersCannotBeIsRefused$"),
		Old: "\tcase inCluster:\n", New: "\tcase inCluster && !ON:\n"},
}

func joins(pattern string) mutation.Tests {
	return mutation.Tests{Package: "./engine/member", Pattern: pattern}
}

// ofCustody are faults of the book of holders.
var ofCustody = []mutation.Mutation{
	{Name: "what-holders-leave-is-not-reported", File: "engine/member/holding.go", Breaks: "H1", Tests: joins("^TestWhatIsLeftAtAHoldersEndIsLogged$"),
		Old: "\tif left := h.Close(); len(left) > 0 {\n", New: "\tif left := h.Close(); len(left) > 0 && !ON {\n"},
	{Name: "what-holders-leave-is-not-counted", File: "engine/member/holding.go", Breaks: "H1", Tests: joins("^TestWhatIsLeftAtAHoldersEndIsLogged$"),
		Old: "\t\tn.holdings.left.Add(int64(len(left)))\n"},
	{Name: "what-the-catalog-discards-stays-in-the-book", File: "engine/member/holding.go", Breaks: "H1", Tests: joins("^TestWhatWasGivenBackIsUnowned$"),
		Old: "\tl.book.GivenBack(ids...) // also if it failed: what lives all the same is found by the janitor\n"},
	{Name: "what-the-catalog-retires-stays-in-the-book", File: "engine/member/holding.go", Breaks: "H1", Tests: joins("^TestWhatWasGivenBackIsUnowned$"),
		Old: "\terr := l.Lender.Retire(ids...)\n\tl.book.GivenBack(ids...)\n", New: "\terr := l.Lender.Retire(ids...)\n\tif !ON {\n\t\tl.book.GivenBack(ids...)\n\t}\n"},
	{Name: "what-could-not-be-discarded-stays-in-the-book", File: "engine/member/holding.go", Breaks: "H1", Tests: joins("^TestWhatWasGivenBackIsUnowned$"),
		Old: "\terr := l.Lender.Discard(ids...)\n", New: "\terr := l.Lender.Discard(ids...)\n\tif ON && err != nil {\n\t\treturn err\n\t}\n"},
	{Name: "discards-of-a-holder-stay-in-the-book", File: "engine/custody/space.go", Breaks: "H1", Tests: mutation.Tests{Package: "./engine/custody", Pattern: "^TestDisclaimerModel$"},
		Old: "\ts.holder.book.GivenBack(ids...) // also if it failed: they are unowned here\n"},
}

// ofWire are faults of the conversation with clients.
var ofWire = []mutation.Mutation{
	{Name: "patience-ends-in-the-middle-of-a-pipeline", File: "wire/connection.go", Breaks: "a client is silent when it is its turn", Tests: speaks("^TestPatienceBeginsWhenItIsTheClientsTurn$"),
		Old: "\tif !ok || !c.idle {\n", New: "\tif !ok || !c.idle && !ON {\n"},
	{Name: "patience-has-no-end", File: "wire/connection.go", Breaks: "a client is not waited for for ever", Tests: speaks("^TestPatienceBeginsWhenItIsTheClientsTurn$"),
		Old: "\t\tnetwork.SetReadDeadline(until)\n"},
	{Name: "clients-that-do-not-read-are-waited-for", File: "wire/hear.go", Breaks: "W9", Tests: speaks("^TestNotifiedClientDoesNotRead$"),
		Old: "\t\tif !writable(c.network) {\n", New: "\t\tif !ON && !writable(c.network) {\n"},
	{Name: "notifications-come-within-transactions", File: "wire/dispatch.go", Breaks: "W9", Tests: speaks("^TestHeard$"),
		Old: "\tif status == TxIdle {\n\t\tc.sendHeard(", New: "\tif status == TxIdle || ON {\n\t\tc.sendHeard("},
	{Name: "patience-lasts-beyond-the-message", File: "wire/connection.go", Breaks: "a client is silent when it is its turn", Tests: speaks("^TestPatienceBeginsWhenItIsTheClientsTurn$"),
		Old: "\t\tnetwork.SetReadDeadline(time.Time{})\n"},
}
