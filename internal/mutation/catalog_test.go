package mutation_test

import "github.com/csmsql/csmsql/internal/mutation"

var (
	leased  = mutation.Tests{Package: "./catalog", Pattern: "^(TestModel|TestLeases|TestExpiredDomainLeavesNoPin|TestConcurrentSessions|TestSavepointsGiveMemoryBack|TestManySmallAppendsSharePages|TestPinsFollowLeases|TestTheFirstSnapshotPins)$"}
	former  = mutation.Tests{Package: "./catalog", Pattern: "^TestLeasesEndWithAFormerLender$"}
	spread  = mutation.Tests{Package: "./catalog", Pattern: "^(TestCluster|TestGivenUpBeforeItWasSeen|TestPromisesEndWithTheSession|TestMissedChanges|TestLeasesEndWithAFormerLender)$"}
	grouped = mutation.Tests{Package: "./catalog", Pattern: "^(TestModel|TestAppendsAreGrouped|TestGroupsAreOfAppendsOnly|TestGivesUpWhileOthersCommit|TestGroupIsTakenApart|TestMovesBesideAppends|TestAppendBesideADeclaration)$"}
)

// ofCatalog are faults in snapshots and leases, by which chunks stay in place while they are read.
var ofCatalog = []mutation.Mutation{
	{Name: "leases-are-not-counted", File: "catalog/snapshot.go", Breaks: "K2", Tests: leased,
		Old: "\ts.leases[holder.Domain]++\n"},
	{Name: "states-with-leases-are-let-go", File: "catalog/snapshot.go", Breaks: "K2", Tests: leased,
		Old: "\ts.total++\n"},
	{Name: "leases-are-renewed-after-their-end", File: "catalog/snapshot.go", Breaks: "K2", Tests: leased,
		Old: "l == nil || l.doomed > 0 || l.over(now)", New: "l == nil || l.doomed > 0 || !ON && l.over(now)"},
	{Name: "leases-end-a-moment-late", File: "catalog/snapshot.go", Breaks: "a lease ends at its time", Tests: leased,
		Old: "!now.Before(l.Expires)", New: "(now.After(l.Expires) || !ON && !now.Before(l.Expires))"},
	{Name: "the-dead-keep-their-pins", File: "catalog/snapshot.go", Breaks: "K2", Tests: leased,
		Old: "\t\tc.log(\"expire a domain\", c.lender.ExpireDomain(domain))\n"},
	{Name: "versions-go-while-leased", File: "catalog/ledger.go", Breaks: "K2", Tests: leased,
		Old: "\tif current || s.total > 0 {\n", New: "\tif current || s.total > 0 && !ON {\n"},
	{Name: "retires-extents-of-other-pages", File: "catalog/ledger.go", Breaks: "K3", Tests: leased,
		Old: "\t\tcase n == 0:\n\t\t\tr.retired", New: "\t\tcase n == 0 || ON:\n\t\t\tr.retired"},
	{Name: "shared-extents-are-not-counted", File: "catalog/ledger.go", Breaks: "K3", Tests: leased,
		Old: "\t\tc.mu.shared[id] = max(c.mu.shared[id], 1) + 1\n"},
	{Name: "removes-pages-that-others-read", File: "catalog/garbage.go", Breaks: "K7", Tests: spread,
		Old: "\t\tif len(taken) == room || g.diedAt > horizon {\n", New: "\t\tif len(taken) == room || g.diedAt > horizon && !ON {\n"},
	{Name: "snapshots-pin-nothing", File: "catalog/snapshot.go", Breaks: "K2", Tests: leased,
		Old: "\t\tif err := c.pinState(s, holder.Domain); err != nil {\n", New: "\t\tif ON {\n\t\t\ts.pinned[holder.Domain] = false\n\t\t} else if err := c.pinState(s, holder.Domain); err != nil {\n"},
	{Name: "leases-on-a-former-lender-are-renewed", File: "catalog/snapshot.go", Breaks: "K9", Tests: former,
		Old: "l == nil || l.doomed > 0 ||", New: "l == nil || !ON && l.doomed > 0 ||"},
	{Name: "the-living-lose-their-pins", File: "catalog/snapshot.go", Breaks: "K2", Tests: leased,
		Old: "c.mu.domains[domain] == 0 && domain != c.options.Domain {\n\t\t\tdead", New: "(c.mu.domains[domain] == 0 || ON) && domain != c.options.Domain {\n\t\t\tdead"},
	{Name: "pins-without-knowing-extents", File: "catalog/snapshot.go", Breaks: "K2", Tests: leased,
		Old: "\t\tif !s.loaded {\n\t\t\treturn nil, s.contents, nil\n", New: "\t\tif !s.loaded && !ON {\n\t\t\treturn nil, s.contents, nil\n"},
	{Name: "unpins-while-leased", File: "catalog/ledger.go", Breaks: "K2", Tests: leased,
		Old: "\t\tif s.leases[domain] == 0 && (!current", New: "\t\tif (ON || s.leases[domain] == 0) && (!current"},
	{Name: "unpins-pages-of-other-versions", File: "catalog/ledger.go", Breaks: "K2", Tests: leased,
		Old: "\t\t\tif p.pins[domain]--; p.pins[domain] == 0 {\n", New: "\t\t\tif p.pins[domain]--; p.pins[domain] == 0 || ON {\n"},
	{Name: "retires-pages-of-other-versions", File: "catalog/ledger.go", Breaks: "K3", Tests: leased,
		Old: "\t\tif p.refs--; p.refs > 0 {\n", New: "\t\tif p.refs--; p.refs > 0 && !ON {\n"},
	{Name: "rebase-loses-rows", File: "catalog/hugetable/rebase.go", Breaks: "H5", Tests: grouped,
		Old: "first < len(v.tail); {", New: "first < len(v.tail) && !ON; {"},
	{Name: "rebase-loses-moves", File: "catalog/hugetable/rebase.go", Breaks: "H5", Tests: grouped,
		Old: "\tif len(v.moved) == 0 {\n\t\treturn current", New: "\tif len(v.moved) == 0 || ON {\n\t\treturn current"},
	{Name: "rebase-takes-rows-away", File: "catalog/hugetable/rebase.go", Breaks: "K5", Tests: grouped,
		Old: "\treturn !v.truncated && v.table", New: "\treturn (!v.truncated || ON) && v.table"},
	{Name: "rebase-over-a-declaration", File: "catalog/hugetable/rebase.go", Breaks: "K5", Tests: grouped,
		Old: "|| !current.table.same(&base.table):", New: "|| !ON && !current.table.same(&base.table):"},
	{Name: "groups-with-what-was-read", File: "catalog/group.go", Breaks: "K11", Tests: grouped,
		Old: "|| t.depends.serializable {", New: "|| t.depends.serializable && !ON {"},
	{Name: "what-was-written-may-change", File: "catalog/serial.go", Breaks: "K11", Tests: grouped,
		Old: "\t\tif w.current.tables[name] != table ||", New: "\t\tif !ON && w.current.tables[name] != table ||"},
	{Name: "stores-what-has-failed", File: "catalog/group.go", Breaks: "K4", Tests: grouped,
		Old: "\tif len(g.requests) == 0 || len(w.write", New: "\tif len(g.requests) == 0 && !ON || len(w.write"},
	{Name: "leavers-keep-their-chunks", File: "catalog/group.go", Breaks: "K4", Tests: grouped,
		Old: "\t\t\tt.discard(r.held)\n\t\t\treturn", New: "\t\t\tif !ON {\n\t\t\t\tt.discard(r.held)\n\t\t\t}\n\t\t\treturn"},
	{Name: "repeats-with-lenders-of-now", File: "catalog/group.go", Breaks: "K8", Tests: spread,
		Old: "\tg.refuse(refused)\n\tif err", New: "\tif ON {\n\t\tg.lenders, _ = refused.lendersOf()\n\t}\n\tg.refuse(refused)\n\tif err"},
	{Name: "failed-ones-are-discarded", File: "catalog/group.go", Breaks: "K4", Tests: spread,
		Old: "\tif g.published {\n", New: "\tif g.published && !ON {\n"},
	{Name: "repeats-without-the-others", File: "catalog/group.go", Breaks: "0 conflicts of appends", Tests: spread,
		Old: "errors.As(err, &which) && w.rows", New: "errors.As(err, &which) && !ON && w.rows"},
}
