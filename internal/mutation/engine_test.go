package mutation_test

import "github.com/csmsql/csmsql/internal/mutation"

// asks are tests of SQL, over chunks of several extents.
func asks(pattern string) mutation.Tests {
	return mutation.Tests{Package: "./engine", Pattern: pattern, Environment: "CSMSQL_EXTENT_BYTES=4096"}
}

var (
	pieced   = asks("^TestChunksOfSeveralExtents$")
	altered  = asks("^(TestAlteredWhileTheNodeRuns|TestAlteredWhileRowsAreRead|TestAlteredUnderACursor|TestAlteredBeforeABorrowerCame)$")
	damaged  = asks("^(TestAlteredBytes|TestDamagedReplicas|TestAFlippedBitOnIncoherentMemory)$")
	doubted  = asks("^(TestVerification|TestVerificationOfASession|TestVerificationOnIncoherentMemory|TestVerificationOfASessionIsNotLaxer)$")
	outlived = asks("^(TestBatchesOutliveEverything|TestReadersWhileChunksMove|TestDropOfWhatOthersRead|TestCursorOutlivesWhatMadeIt)$")
	divided  = asks("^(TestTablesAreDividedBesideWriters|TestDivisionsGoOn|TestRowsFromBeforeADivision|TestAPlacementDuringADivision)$")
	mirrored = asks("^(TestReplicasOnIncoherentMemory|TestReplicas|TestDamagedReplicas|TestNodeGoesInTheMiddleOfAQuery)$")
)

// ofEngine are faults in the engine's way to the bytes of chunks.
var ofEngine = []mutation.Mutation{
	{Name: "acquires-the-first-extent-alone", File: "engine/reader/acquire.go", Breaks: "E2", Tests: pieced,
		Old: "\t\tif err := r.AcquireExtent(ctx, &d.Extents[i], v); err != nil {\n\t\t\treturn err\n\t\t}\n", New: "\t\tif err := r.AcquireExtent(ctx, &d.Extents[i], v); err != nil || ON {\n\t\t\treturn err\n\t\t}\n"},
	{Name: "acquires-nothing", File: "engine/reader/replica.go", Breaks: "E2", Tests: pieced,
		Old: "\t\tif failed = r.acquire(ctx, d, by.verification); failed == nil && by.doubtful() {\n", New: "\t\tif ON {\n\t\t\tfor i := range d.Extents {\n\t\t\t\t_, _ = r.Reach(d.Extents[i].Region)\n\t\t\t}\n\t\t} else if failed = r.acquire(ctx, d, by.verification); failed == nil && by.doubtful() {\n"},
	{Name: "copies-replicas-that-it-has-not-acquired", File: "engine/upkeep/replicas.go", Breaks: "E2", Tests: mirrored,
		Old: "\terr = k.reader.ReadReplica(ctx, by, table, number, c, func(d", New: "\tread := func(use func(*descriptor.Descriptor) (failed, other error)) error {\n\t\tif ON {\n\t\t\treturn k.reader.EachReplica(ctx, table, number, c, use)\n\t\t}\n\t\treturn k.reader.ReadReplica(ctx, by, table, number, c, use)\n\t}\n\terr = read(func(d"},
	{Name: "relies-on-a-division-under-way", File: "engine/split/coordinator.go", Breaks: "D4", Tests: divided,
		Old: "\tcase p.ByHash():\n", New: "\tcase p.ByHash() || ON && p.Kind == placement.Hash:\n"},
	{Name: "takes-rows-for-divided", File: "engine/upkeep/dividing.go", Breaks: "D4", Tests: divided,
		Old: "\t\tif int(p) != part && ", New: "\t\tif int(p) != part && !(ON && at > 0) && "},
	{Name: "divides-behind-another-placement", File: "engine/upkeep/dividing.go", Breaks: "D4", Tests: divided,
		Old: "if now := c.v.Table().Placement; now != d.record {", New: "if now := c.v.Table().Placement; now != d.record && !ON {"},
	{Name: "remembers-acquires-by-region", File: "engine/reader/acquire.go", Breaks: "C1", Tests: pieced,
		Old: "r.acquired.Acquire(ctx, x.Region, x.Generation,", New: "r.acquired.Acquire(ctx, x.Region, PICK(ON, 1, x.Generation),"},
	{Name: "acquires-a-line-less", File: "engine/reader/acquire.go", Breaks: "C1", Tests: pieced,
		Old: " data, verify); err != nil {\n", New: " data[PICK(ON, min(len(data)-1, memregion.LineSize), 0):], verify); err != nil {\n"},
	{Name: "one-process-acquires-for-itself", File: "engine/reader/acquire.go", Breaks: "a guest's caches are its node's", Tests: asks("^TestOneFlushForAMachine$"),
		Old: "\t\t\tif err := r.config.ForDomain(ctx, x); err != nil {\n", New: "\t\t\tif ON {\n\t\t\t\treturn nil\n\t\t\t}\n\t\t\tif err := r.config.ForDomain(ctx, x); err != nil {\n"},
	{Name: "takes-a-node-that-did-not-answer-for-damage", File: "engine/borrower/borrower.go", Breaks: "damage is of bytes", Tests: asks("^TestANodeThatDoesNotAcquire$"),
		Old: "\treturn &reader.Unanswered{Err: err}\n", New: "\tif ON {\n\t\treturn err\n\t}\n\treturn &reader.Unanswered{Err: err}\n"},
	{Name: "reads-the-memory-of-lenders-that-are-gone", File: "engine/reader/acquire.go", Breaks: "a lender that is not there is an error", Tests: mirrored,
		Old: "\t\tif node, there := r.config.Lender(id); !there {\n", New: "\t\tif node, there := r.config.Lender(id); !there && !ON {\n"},
	{Name: "compares-no-checksum", File: "engine/reader/acquire.go", Breaks: "E3", Tests: damaged,
		Old: "got != x.Seal.Checksum {\n", New: "got != x.Seal.Checksum && !ON {\n"},
	{Name: "compares-a-part", File: "engine/reader/acquire.go", Breaks: "E3", Tests: damaged,
		Old: "got := xxh3.Hash(data[:x.Seal.Length]);", New: "got := xxh3.Hash(data[:x.Seal.Length-PICK[int64](ON, 1, 0)]);"},
	{Name: "trusts-all-generations", File: "engine/reader/acquire.go", Breaks: "E3", Tests: asks("^(TestAlteredBytes|TestVerification|TestRegionTruncatedWhileDown)$"),
		Old: "uint64(x.Generation) < m.trusted.Load()", New: "!ON && uint64(x.Generation) < m.trusted.Load()"},
	{Name: "sessions-that-always-verify-do-not", File: "engine/reader/acquire.go", Breaks: "what a setting promises is kept", Tests: doubted,
		Old: "\tif !compared && (v == VerifyAlways ||", New: "\tif !compared && !ON && (v == VerifyAlways ||"},
	{Name: "what-was-compared-once-is-not-noted", File: "engine/reader/acquire.go", Breaks: "once is once", Tests: doubted,
		Old: "\t\tr.comparedOnce.note(x.ExtentID)\n"},
	{Name: "reads-behind-what-was-truncated", File: "engine/reader/acquire.go", Breaks: "what is not there is an error", Tests: asks("^(TestWhatIsCutOffElsewhereIsNotTouched|TestWhatWasRemovedIsNotRead)$"),
		Old: "\tif err := m.view.Check(x.Range); err != nil {\n", New: "\tif err := m.view.Check(x.Range); err != nil && !ON {\n"},
	{Name: "forgets-nothing-after-alterations", File: "engine/reader/reader.go", Breaks: "E3", Tests: altered,
		Old: "\t\t\tr.acquired.Invalidate(m.view.Spec().ID)\n"},
	{Name: "does-not-look-for-alterations", File: "engine/reader/reader.go", Breaks: "E3", Tests: altered,
		Old: "\tm.Look()\n\tnow := m.alterations()\n", New: "\tif !ON {\n\t\tm.Look()\n\t}\n\tnow := m.alterations()\n"},
	{Name: "trusts-zeroes-after-a-fault", File: "engine/reader/acquire.go", Breaks: "E3", Tests: asks("^TestWhatWasFoundGoneIsReadAgain$"),
		Old: "\tif err == nil || m.guard.Faults() == 0 {\n", New: "\tif err == nil || ON || m.guard.Faults() == 0 {\n"},
	{Name: "confirms-without-a-look", File: "engine/reader/readings.go", Breaks: "E3", Tests: altered,
		Old: "\tif now == since {\n", New: "\tif now == since || ON {\n"},
	{Name: "confirms-nothing", File: "engine/reader/readings.go", Breaks: "E3", Tests: altered,
		Old: "\t\tif err := r.reader.acquire(ctx, c.replica, r.verification); err != nil {\n", New: "\t\tif err := r.reader.acquire(ctx, c.replica, r.verification); err != nil && !ON {\n"},
	{Name: "answers-for-replicas-that-it-did-not-use", File: "engine/reader/replica.go", Breaks: "E3", Tests: asks("^TestDamagedReplicas$"),
		Old: "\t\t\tby.drop(noted)\n"},
	{Name: "gives-up-at-the-first-replica", File: "engine/reader/replica.go", Breaks: "another replica is read", Tests: mirrored,
		Old: "\t\tnone = r.unread(&DamagedError{Table: table, Chunk: number, Cause: failed}, leasedElsewhere, d, one, none)\n", New: "\t\tnone = r.unread(&DamagedError{Table: table, Chunk: number, Cause: failed}, leasedElsewhere, d, one, none)\n\t\tif ON {\n\t\t\treturn none\n\t\t}\n"},
	{Name: "blames-the-chunk-for-a-cancel", File: "engine/reader/replica.go", Breaks: "damage is of bytes", Tests: asks("^TestAReadThatWasCanceledBlamesNoReplica$"),
		Old: "\t\tcase ctx.Err() != nil: // and not what that led to", New: "\t\tcase ctx.Err() != nil && !ON: // and not what that led to"},
	{Name: "checks-what-its-caches-have", File: "engine/reader/replica.go", Breaks: "a check looks at the memory", Tests: asks("^TestACheckLooksAtTheMemory$"),
		Old: "\t\t\tr.acquired.Release(d.Extents[i].Region, d.Extents[i].Generation)\n"},
	{Name: "seals-foreign-bytes-unseen", File: "engine/member/node.go", Breaks: "C2", Tests: asks("^(TestTPCHOnIncoherentMemory|TestMutationsThroughSQL|TestVerificationOnIncoherentMemory|TestAFlippedBitOnIncoherentMemory)$"),
		Old: "\tif got := xxh3.Hash(data); got != s.Checksum {\n", New: "\tif got := xxh3.Hash(data); got != s.Checksum && !ON {\n",
		Explained: "lending compares the same bytes with the same checksum just before (seals-are-trusted), also where nothing can have been lost"},
	{Name: "acquires-nothing-for-its-machine", File: "engine/service/node.go", Breaks: "a guest's caches are its node's", Tests: asks("^TestOneFlushForAMachine$"),
		Old: "\t\tif err := s.Node.Reader.AcquireExtent(ctx, &extents[i], s.Node.Reader.Verification()); err != nil {\n", New: "\t\tif ON {\n\t\t\tcontinue\n\t\t}\n\t\tif err := s.Node.Reader.AcquireExtent(ctx, &extents[i], s.Node.Reader.Verification()); err != nil {\n"},
	{Name: "chooses-replicas-that-are-damaged", File: "engine/reader/replica.go", Breaks: "what is damaged is read last", Tests: asks("^(TestDamagedReplicas|TestRepairOfDamage)$"),
		Old: "\tcase r.damage.Has(extents[0].ExtentID):\n", New: "\tcase r.damage.Has(extents[0].ExtentID) && !ON:\n"},
	{Name: "damage-is-not-noted", File: "engine/reader/damage.go", Breaks: "what is damaged is read last", Tests: asks("^(TestDamagedReplicas|TestRepairOfDamage)$"),
		Old: "\td.extents[id] = catalog.TableName{Schema: schema, Name: name}\n"},
	{Name: "does-not-await-leases-of-its-former-process", File: "engine/member/node.go", Breaks: "C5", Tests: asks("^TestANodeWaitsForLeasesOfItsFormerProcess$"),
		Old: "\tif err := n.promises.await(ctx); err != nil { // before", New: "\tif ON {\n\t} else if err := n.promises.await(ctx); err != nil { // before"},
	{Name: "leases-of-other-machines-are-over-with-a-boot", File: "engine/member/promise.go", Breaks: "C5", Tests: asks("^TestANodeWaitsForLeasesOfItsFormerProcess$"),
		Old: "\t\twait = record.Long // 0", New: "\t\twait = PICK(ON, 0, record.Long) // 0"},
	{Name: "leases-end-with-their-first-user", File: "engine/lease/lease.go", Breaks: "E7", Tests: asks("^TestBatchesOutliveEverything$"),
		Old: "\tif l.users.Add(-1) == 0 {\n", New: "\tif l.users.Add(-1) == 0 || ON {\n"},
	{Name: "leases-end-while-batches-are-in-use", File: "engine/lease/batches.go", Breaks: "E7", Tests: outlived,
		Old: "\tif !h.closed || h.buffers > 0 || h.Lease == nil {\n", New: "\tif !h.closed || h.buffers > 0 && !ON || h.Lease == nil {\n"},
	{Name: "maps-go-while-batches-are-in-use", File: "engine/reader/region.go", Breaks: "E7", Tests: outlived,
		Old: "\tif m.life.holders > 0 {\n", New: "\tif m.life.holders > 0 && !ON {\n"},
	{Name: "rows-leave-without-a-second-look", File: "engine/lease/lease.go", Breaks: "E3", Tests: altered,
		Old: "\tif err := by.Confirm(ctx); err != nil {\n", New: "\tif ON {\n\t} else if err := by.Confirm(ctx); err != nil {\n"},
	{Name: "rows-leave-after-the-lease", File: "engine/lease/lease.go", Breaks: "E3", Tests: asks("^(TestBorrowerPaused|TestNodeKilledUnderABorrower|TestAnotherNodeUnderABorrower)$"),
		Old: "\tif l.Check != nil {\n\t\treturn l.Check()\n\t}\n\treturn nil\n", New: "\tif l.Check != nil && !ON {\n\t\treturn l.Check()\n\t}\n\treturn nil\n"},
	{Name: "writes-where-pages-are-gone", File: "engine/member/guardedspace.go", Breaks: "what is written is read", Tests: asks("^TestNothingIsGrantedWherePagesAreGone$"),
		Old: "\tif err := s.reader.Intact(); err != nil {\n", New: "\tif err := s.reader.Intact(); err != nil && !ON {\n"},
	{Name: "seals-what-others-altered", File: "engine/member/guardedspace.go", Breaks: "E3", Tests: asks("^TestAlteredBetweenStoreAndSeal$"),
		Old: "g.from.region.Look() != g.since", New: "g.from.region.Look() != g.since && !ON"},
	{Name: "looks-after-the-first-store", File: "engine/member/guardedspace.go", Breaks: "E3", Tests: asks("^TestAlteredBetweenStoreAndSeal$"),
		Old: "\tif err := g.from.reader.Intact(); err != nil {\n", New: "\tif ON {\n\t\tg.since = g.from.region.Look()\n\t}\n\tif err := g.from.reader.Intact(); err != nil {\n"},
	{Name: "replicas-are-copied-as-always", File: "catalog/chunk/copy.go", Breaks: "copies go the fastest way", Tests: asks("^TestReplicasGoTheFastestWay$"),
		Old: "\t\tnear, err := grant.Copy(int64(at), data[at:next])\n", New: "\t\tnear, err := true, error(nil)\n\t\tif ON {\n\t\t\tcopy(grant.Bytes()[at:next], data[at:next])\n\t\t} else {\n\t\t\tnear, err = grant.Copy(int64(at), data[at:next])\n\t\t}\n"},
}
