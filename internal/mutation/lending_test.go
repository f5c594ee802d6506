package mutation_test

import "github.com/csmsql/csmsql/internal/mutation"

func lends(pattern string) mutation.Tests {
	return mutation.Tests{Package: "./cluster/noderpc/lending", Pattern: pattern}
}

func borrows(pattern string) mutation.Tests {
	return mutation.Tests{Package: "./cluster/noderpc/borrowing", Pattern: pattern}
}

var (
	// racked runs lender, borrower and reader over caches of three machines.
	racked   = borrows("^TestMemoryThatIsNotCoherent$")
	ledgers  = lends("^(TestLenderModel|TestALoanFromGrantToPublication|TestEverythingCanBeGivenBack|TestForgedCalls|TestReplayedCalls|TestCallsAboutTheFormerProcess|TestLimits|TestTickets|TestGivenBackInTheMiddle|TestPins|TestVoidTicketsAreForgotten)$")
	departs  = lends("^(TestAPeerIsDeclaredDeadAndSleeps|TestAPeerIsKilled|TestAPeerOfAnotherMachine|TestAPeerIsDeclaredDeadInTheMiddle|TestAStepPanics|TestTheLendersNextProcessKnowsItsWriters|TestNothingIsGrantedToWhoIsOver|TestANodeThatRestarted)$")
	leaves   = lends("^(TestAWritersMachineFlushesForIt|TestLeftBeforeAnybodyNoticed|TestLeftToALenderThatWasStartedAgain|TestNothingIsLeftWhereCachesAreCoherent)$")
	journals = lends("^(TestLinesThatAreRefused|TestWritersOfOtherMachinesOutliveABoot|TestGrantsToOtherMachinesAreSynced|TestDamagedJournals|TestTheJournalIsCompacted|TestTheLendersNextProcessKnowsItsWriters)$")
	seals    = lends("^(TestSealsThatAreRefused|TestSealsAreCompared|TestALoanFromGrantToPublication|TestReallocate|TestTheLenderFlushes|TestPublishOverRegions|TestAnUnheardPublication)$")
	// unpoisoned is built as the program is for use: what poisons memory that went back has stored there.
	unpoisoned = mutation.Tests{Package: "./cluster/noderpc/lending", Pattern: "^TestAFailedCopyIntoMemoryThatIsNotCoherent$", Tags: mutation.Unchecked}
)

var ofBorrowing = []mutation.Mutation{
	{Name: "grow-without-a-flush", File: "cluster/noderpc/borrowing/grant.go", Breaks: "R3", Tests: racked,
		Old: "\ts.flusher.DoAll(list, g.given.Range, g.window.Bytes())\n\trequest := ", New: "\tif !ON {\n\t\ts.flusher.DoAll(list, g.given.Range, g.window.Bytes())\n\t}\n\trequest := "},
	{Name: "grow-does-not-store-what-is-staged", File: "cluster/noderpc/borrowing/grant.go", Breaks: "the lender copies what was written", Tests: borrows("^TestWhatIsMeantAndNotWhatIsThere$"),
		Old: "\tg.store()\n\ts.flusher.DoAll(list", New: "\tif !ON {\n\t\tg.store()\n\t}\n\ts.flusher.DoAll(list"},
	{Name: "grow-does-not-drop-what-the-lender-stored", File: "cluster/noderpc/borrowing/grant.go", Breaks: "C1", Tests: borrows("^(TestMemoryThatIsNotCoherent|TestTheWriterFlushes)$"),
		Old: "\ts.flusher.Drop(given.Class, coherence.StepAcquire, longer.window.Bytes()) // what this processor has of memory into which another one copied\n"},
	{Name: "grow-forgets-what-was-staged", File: "cluster/noderpc/borrowing/grant.go", Breaks: "what is meant is written", Tests: racked,
		Old: "\tcopy(longer.staged, g.staged)\n"},
	{Name: "grow-keeps-the-shorter-one", File: "cluster/noderpc/borrowing/grant.go", Breaks: "R2", Tests: racked,
		Old: "\tif err := old.Abort(); err != nil {\n\t\treturn err\n\t}\n"},
	{Name: "grow-keeps-what-it-cannot-map", File: "cluster/noderpc/borrowing/grant.go", Breaks: "R2", Tests: borrows("^(TestALostReallocation|TestDebts)$"),
		Old: "\t\ts.unheard(request.Ticket, err)\n\t\treturn err\n", New: "\t\tif !ON {\n\t\t\ts.unheard(request.Ticket, err)\n\t\t}\n\t\treturn err\n"},
	{Name: "shrink-without-a-flush", File: "cluster/noderpc/borrowing/grant.go", Breaks: "R3", Tests: racked,
		Old: "\tg.space.flusher.DoAll(list, g.given.Range, g.window.Bytes()) // R3\n"},
	{Name: "shrink-keeps-the-window", File: "cluster/noderpc/borrowing/grant.go", Breaks: "R1", Tests: borrows("^(TestStepsOutOfOrder|TestTheWriterFlushes)$"),
		Old: "\tif err := g.window.Shrink(length); err != nil {\n\t\treturn err\n\t}\n"},
	{Name: "close-without-a-flush", File: "cluster/noderpc/borrowing/grant.go", Breaks: "R3", Tests: racked,
		Old: "\tg.space.flusher.DoAll(list, g.given.Range, window.Bytes())\n"},
	{Name: "clean-does-not-store-what-is-staged", File: "cluster/noderpc/borrowing/grant.go", Breaks: "what is meant is written", Tests: racked,
		Old: "\tg.store()\n\tg.staged = nil\n", New: "\tif !ON {\n\t\tg.store()\n\t}\n\tg.staged = nil\n"},
	{Name: "snooped-windows-are-written-in-place", File: "cluster/noderpc/borrowing/grant.go", Breaks: "what is meant is written", Tests: borrows("^TestWhatIsMeantAndNotWhatIsThere$"),
		Old: "\tif given.Class == coherence.IncoherentHomeSnoop {\n", New: "\tif given.Class == coherence.IncoherentHomeSnoop && !ON {\n"},
	{Name: "copies-to-another-place", File: "cluster/noderpc/borrowing/grant.go", Breaks: "what is meant is written", Tests: racked,
		Old: "\t\tcopy(g.staged[at:], from)\n", New: "\t\tcopy(g.staged[PICK(ON, 0, at):], from)\n"},
	{Name: "seals-before-it-cleans", File: "cluster/noderpc/borrowing/grant.go", Breaks: "publish after flush", Tests: borrows("^TestStepsOutOfOrder$"),
		Old: "\tif g.over || g.writer.Writing() {\n", New: "\tif g.over || g.writer.Writing() && !ON {\n"},
	{Name: "aborts-are-not-owed", File: "cluster/noderpc/borrowing/grant.go", Breaks: "R2", Tests: borrows("^(TestDebts|TestALostReallocation|TestNothingIsLostOverABadLine)$"),
		Old: "\t\ts.Owe(g.given.Extent)\n\t\treturn err\n\t}\n\treturn errors.Join(err, freed)\n", New: "\t\tif !ON {\n\t\t\ts.Owe(g.given.Extent)\n\t\t}\n\t\treturn err\n\t}\n\treturn errors.Join(err, freed)\n"},
	{Name: "aborts-that-do-not-settle", File: "cluster/noderpc/borrowing/grant.go", Breaks: "W3", Tests: racked,
		Old: "Extents: []catalog.ExtentID{g.given.Extent}, Settling: true}", New: "Extents: []catalog.ExtentID{g.given.Extent}, Settling: !ON}"},
	{Name: "unheard-grants-are-not-owed", File: "cluster/noderpc/borrowing/space.go", Breaks: "R2", Tests: borrows("^(TestDebts|TestACanceledGrant|TestNothingIsLostOverABadLine)$"),
		Old: "\ts.mu.debts.Tickets = append(s.mu.debts.Tickets, ticket)\n"},
	{Name: "debts-that-were-not-heard-are-forgotten", File: "cluster/noderpc/borrowing/space.go", Breaks: "R2", Tests: borrows("^(TestDebts|TestNothingIsLostOverABadLine)$"),
		Old: "\t\t\ts.mu.debts.Extents = append(s.mu.debts.Extents, debts.Extents...)\n"},
	{Name: "flusher-begins-a-line-late", File: "coherence/flusher.go", Breaks: "C3", Tests: racked,
		Old: "\t\t\tfrom := a.Range.Offset - extent.Offset\n", New: "\t\t\tfrom := min(a.Range.Offset-extent.Offset+PICK[int64](ON, memregion.LineSize, 0), int64(len(data)))\n"},
}

var ofLending = []mutation.Mutation{
	// Permissions.
	{Name: "anybody-seals", File: "cluster/noderpc/lending/ledger.go", Breaks: "W1", Tests: ledgers,
		Old: "\tcase g.account != a:\n\t\treturn nil, notYours(what, id)\n", New: "\tcase g.account != a && !ON:\n\t\treturn nil, notYours(what, id)\n"},
	{Name: "busy-extents-are-taken", File: "cluster/noderpc/lending/ledger.go", Breaks: "W6", Tests: lends("^TestOneStepAtATime$"),
		Old: "\tcase g.busy:\n\t\treturn nil, refused(", New: "\tcase g.busy && !ON:\n\t\treturn nil, refused("},
	{Name: "any-stage-will-do", File: "cluster/noderpc/lending/ledger.go", Breaks: "W6", Tests: ledgers,
		Old: "\t\tif g.stage == s {\n", New: "\t\tif g.stage == s || ON {\n"},
	{Name: "the-dead-are-let-in", File: "cluster/noderpc/lending/ledger.go", Breaks: "W4", Tests: departs,
		Old: "\tif u.isDead(b.Incarnation) || slices.Contains(l.over, b.Incarnation) {\n", New: "\tif !ON && (u.isDead(b.Incarnation) || slices.Contains(l.over, b.Incarnation)) {\n"},
	{Name: "those-who-are-over-are-let-in", File: "cluster/noderpc/lending/ledger.go", Breaks: "W4", Tests: departs,
		Old: "u.isDead(b.Incarnation) || slices.Contains(l.over, b.Incarnation)", New: "u.isDead(b.Incarnation) || !ON && slices.Contains(l.over, b.Incarnation)"},
	{Name: "quotas-of-each-incarnation", File: "cluster/noderpc/lending/ledger.go", Breaks: "W2", Tests: ledgers,
		Old: "\tcase size > l.limits.PeerBytes-u.bytes:\n", New: "\tcase size > l.limits.PeerBytes-u.bytes && !ON:\n"},
	{Name: "void-tickets-are-granted", File: "cluster/noderpc/lending/ledger.go", Breaks: "W5", Tests: ledgers,
		Old: "\tcase u.isVoid(a.Incarnation, ticket):\n", New: "\tcase u.isVoid(a.Incarnation, ticket) && !ON:\n"},
	{Name: "tickets-are-used-twice", File: "cluster/noderpc/lending/ledger.go", Breaks: "W5", Tests: ledgers,
		Old: "\tcase a.tickets[ticket] != nil:\n", New: "\tcase a.tickets[ticket] != nil && !ON:\n"},
	{Name: "quotas-stay-taken", File: "cluster/noderpc/lending/ledger.go", Breaks: "W2", Tests: ledgers,
		Old: "\ta.usage.bytes -= g.bytes\n"},

	// Grants.
	{Name: "grants-to-those-who-gave-up", File: "cluster/noderpc/lending/lender.go", Breaks: "W5", Tests: lends("^(TestTickets|TestGivenBackInTheMiddle|TestAPeerIsDeclaredDeadInTheMiddle|TestLenderModel)$"),
		Old: "\t\twithdrawn = g.void || g.account.gone || ctx.Err() != nil\n", New: "\t\twithdrawn = !ON && (g.void || g.account.gone || ctx.Err() != nil)\n"},
	{Name: "grants-are-not-journaled", File: "cluster/noderpc/lending/lender.go", Breaks: "W3", Tests: racked,
		Old: "\tif err := l.options.Journal.granted(id, at, g, home.Class()); err != nil {\n", New: "\tif err := l.options.Journal.granted(id, at, g, home.Class()); ON {\n\t\treturn id, at, l.options.Journal.ended(id)\n\t} else if err != nil {\n"},
	{Name: "memory-of-a-failed-record-is-kept", File: "cluster/noderpc/lending/lender.go", Breaks: "W6", Tests: journals,
		Old: "\t\tl.log(\"take back an extent that was not granted\", l.takeBack(home, id.Generation))\n"},
	{Name: "what-is-not-cleaned-is-called-clean", File: "cluster/noderpc/lending/lender.go", Breaks: "W6", Tests: lends("^TestWhatIsAbortingGoesBack$"),
		Old: "\tcase coherence.Aborting:\n\t\treturn home.Cleaned(gen)\n\tcase coherence.Sealed:\n", New: "\tcase coherence.Aborting:\n\t\tif ON {\n\t\t\treturn nil\n\t\t}\n\t\treturn home.Cleaned(gen)\n\tcase coherence.Sealed:\n"},

	// Seals.
	{Name: "seals-are-trusted", File: "cluster/noderpc/lending/steps.go", Breaks: "W7", Tests: seals,
		Old: "\tif checksum != request.Seal.Checksum {\n", New: "\tif checksum != request.Seal.Checksum && !ON {\n"},
	{Name: "compares-what-its-caches-have", File: "cluster/noderpc/lending/steps.go", Breaks: "C1", Tests: racked,
		Old: "\t\tflush(l.options.Lines, bytes) // an acquire: this processor may have fetched lines before they were written\n"},
	{Name: "seals-longer-than-the-extent", File: "cluster/noderpc/lending/steps.go", Breaks: "C4", Tests: seals,
		Old: "\tcase request.Keep > view.Range.Length:\n", New: "\tcase request.Keep > view.Range.Length && !ON:\n"},
	{Name: "seals-more-than-is-kept", File: "cluster/noderpc/lending/steps.go", Breaks: "C4", Tests: seals,
		Old: "request.Seal.Length < 0 || request.Seal.Length > request.Keep", New: "request.Seal.Length < 0 || !ON && request.Seal.Length > request.Keep"},
	{Name: "tails-are-kept", File: "cluster/noderpc/lending/steps.go", Breaks: "memory goes back", Tests: seals,
		Old: "\tcase request.Keep < view.Range.Length:\n", New: "\tcase request.Keep < view.Range.Length && !ON:\n"},
	{Name: "publishes-what-is-granted", File: "cluster/noderpc/lending/steps.go", Breaks: "publish after flush", Tests: ledgers,
		Old: "\"publish\", request.Extents, sealed)", New: "\"publish\", request.Extents, PICK(ON, granted, sealed), sealed)"},
	{Name: "free-does-not-settle-orphans", File: "cluster/noderpc/lending/steps.go", Breaks: "W5", Tests: departs,
		Old: "\t\t\tif o, ok := l.orphanOf(a, id); ok {\n", New: "\t\t\tif o, ok := l.orphanOf(a, id); ok && !ON {\n"},
	{Name: "what-is-busy-is-not-given-back", File: "cluster/noderpc/lending/steps.go", Breaks: "W5", Tests: ledgers,
		Old: "\tg.void = true\n\treturn true\n", New: "\tg.void = !ON\n\treturn true\n"},
	{Name: "pins-of-the-dead-stay", File: "cluster/noderpc/lending/steps.go", Breaks: "W4", Tests: lends("^TestAPinOfWhoDies$"),
		Old: "\t\t_ = l.homes.ExpireDomain(a.domain()) // it has no error to return\n"},

	// Reallocation.
	{Name: "copies-what-its-caches-have", File: "cluster/noderpc/lending/reallocate.go", Breaks: "C1", Tests: racked,
		Old: "\t\tflush(l.options.Lines, source)\n"},
	{Name: "keeps-lines-of-what-it-copied", File: "cluster/noderpc/lending/reallocate.go", Breaks: "C3", Tests: racked,
		Old: "\t\tflush(l.options.Lines, target)\n"},
	{Name: "copies-a-line-less", File: "cluster/noderpc/lending/reallocate.go", Breaks: "what was written is kept", Tests: racked,
		Old: "\tif err := memregion.Guarded(func() { copy(target, source) }); err != nil {\n", New: "\tif err := memregion.Guarded(func() { copy(target, source[:len(source)-PICK(ON, min(len(source), memregion.LineSize), 0)]) }); err != nil {\n"},
	{Name: "copies-and-touches-nothing", File: "cluster/noderpc/lending/reallocate.go", Breaks: "C3", Tests: unpoisoned,
		Old: "\thome.Touch(to) // the next writer's grant does not rely on what follows\n"},
	{Name: "copies-more-than-there-is", File: "cluster/noderpc/lending/reallocate.go", Breaks: "C4", Tests: seals,
		Old: "request.Size <= view.Range.Length || request.Used > view.Range.Length", New: "request.Size <= view.Range.Length || !ON && request.Used > view.Range.Length"},
	{Name: "flushes-without-a-fence-behind", File: "cluster/noderpc/lending/reallocate.go", Breaks: "C1", Tests: lends("^TestTheLenderFlushes$"),
		Old: "\tlines.Flush(b)\n\tlines.FenceFull()\n", New: "\tlines.Flush(b)\n\tif !ON {\n\t\tlines.FenceFull()\n\t}\n"},

	// Departures.
	{Name: "lifts-what-may-be-stored-into", File: "cluster/noderpc/lending/depart.go", Breaks: "W3", Tests: departs,
		Old: "\t\tif l.cannotStore(g, home.Class()) {\n", New: "\t\tif l.cannotStore(g, home.Class()) || ON {\n"},
	{Name: "lifts-what-caches-may-hold", File: "cluster/noderpc/lending/depart.go", Breaks: "W8", Tests: leaves,
		Old: "(flushed || class == coherence.Coherent)", New: "(ON || flushed || class == coherence.Coherent)"},
	{Name: "sleeping-writers-are-taken-for-ended", File: "cluster/noderpc/lending/depart.go", Breaks: "W3", Tests: departs,
		Old: "fenced || (process.Gone() ||", New: "fenced || (ON || process.Gone() ||"},
	{Name: "restarts-without-a-node", File: "cluster/noderpc/lending/depart.go", Breaks: "W3", Tests: departs,
		Old: "\treturn member.Node != \"\" && l.options.Restarted(member, b.Incarnation)\n", New: "\treturn ON || member.Node != \"\" && l.options.Restarted(member, b.Incarnation)\n"},
	{Name: "lifts-the-living", File: "cluster/noderpc/lending/depart.go", Breaks: "W3", Tests: departs,
		Old: "\t\tif is(b) && a.gone {\n", New: "\t\tif is(b) && (a.gone || ON) {\n"},
	{Name: "pins-outlive-their-domain", File: "cluster/noderpc/lending/depart.go", Breaks: "W4", Tests: lends("^(TestPins|TestAPeerIsDeclaredDeadInTheMiddle|TestLenderModel|TestAPeerIsKilled)$"),
		Old: "\t\tl.log(\"the pins of \"+a.String(), l.homes.ExpireDomain(a.domain()))\n"},
	{Name: "orphans-go-back-while-their-writer-lives", File: "cluster/noderpc/lending/depart.go", Breaks: "W3", Tests: departs,
		Old: "return !o.over() && (o.Cached ||", New: "return !ON && !o.over() && (o.Cached ||"},
	{Name: "sealed-memory-of-the-dead-stays", File: "cluster/noderpc/lending/depart.go", Breaks: "W6", Tests: departs,
		Old: "\t\treturn home.Discard(gen)\n\tcase coherence.Published:\n\t\treturn home.Retire(gen)\n", New: "\t\tif ON {\n\t\t\treturn nil\n\t\t}\n\t\treturn home.Discard(gen)\n\tcase coherence.Published:\n\t\treturn home.Retire(gen)\n"},

	// What a machine flushes for its former process.
	{Name: "flushed-by-anybody", File: "cluster/noderpc/lending/left.go", Breaks: "W8", Tests: leaves,
		Old: "a.peer.Principal() != peer.Principal() || a.Incarnation == peer.Incarnation || a.machine != request.Domain", New: "!ON && a.peer.Principal() != peer.Principal() || a.Incarnation == peer.Incarnation || !ON && a.machine != request.Domain"},
	{Name: "left-by-those-who-store", File: "cluster/noderpc/lending/left.go", Breaks: "W3", Tests: leaves,
		Old: "\t\tif processes[a] {\n", New: "\t\tif processes[a] || ON {\n"},
	{Name: "orphans-flushed-by-anybody", File: "cluster/noderpc/lending/left.go", Breaks: "W8", Tests: leaves,
		Old: "o.Principal != peer.Principal() || o.Machine != request.Domain", New: "!ON && (o.Principal != peer.Principal() || o.Machine != request.Domain)"},

	// The journal.
	{Name: "cached-orphans-are-dropped-with-their-process", File: "cluster/noderpc/lending/journal.go", Breaks: "W8", Tests: leaves,
		Old: "return !o.Cached && o.Process.Gone()", New: "return (ON || !o.Cached) && o.Process.Gone()"},
	{Name: "orphans-of-another-boot-are-dropped", File: "cluster/noderpc/lending/journal.go", Breaks: "W3", Tests: journals,
		Old: "published(id) || o.local() && o.Boot != boot ||", New: "published(id) || (ON || o.local()) && o.Boot != boot ||"},
	{Name: "published-orphans-are-kept", File: "cluster/noderpc/lending/journal.go", Breaks: "W6", Tests: departs,
		Old: "if published(id) || o.local()", New: "if !ON && published(id) || o.local()"},
	{Name: "the-journal-is-not-synced", File: "cluster/noderpc/lending/journal.go", Breaks: "W3", Tests: journals,
		Old: "\tif err := j.sync(j.file); err != nil {\n", New: "\tif err := j.sync(j.file); err != nil && !ON {\n"},
	{Name: "the-journal-is-never-synced", File: "cluster/noderpc/lending/journal.go", Breaks: "W3", Tests: journals,
		Old: "\tj.live[id] = o\n\tif o.local() {\n", New: "\tj.live[id] = o\n\tif o.local() || ON {\n"},
	{Name: "a-rewritten-journal-is-not-synced", File: "cluster/noderpc/lending/journal.go", Breaks: "W3", Tests: journals,
		Old: "err == nil && j.elsewhere() {\n", New: "err == nil && j.elsewhere() && !ON {\n"},
	{Name: "a-torn-line-is-passed-over", File: "cluster/noderpc/lending/journal.go", Breaks: "W3", Tests: journals,
		Old: "\t\tif damaged != nil {\n", New: "\t\tif damaged != nil && !ON {\n"},
	{Name: "ends-are-not-written", File: "cluster/noderpc/lending/journal.go", Breaks: "W6", Tests: journals,
		Old: "\treturn j.append(entry{Ended: &id})\n", New: "\tif ON {\n\t\treturn nil\n\t}\n\treturn j.append(entry{Ended: &id})\n"},
}
