package mutation_test

import "github.com/csmsql/csmsql/internal/mutation"

var (
	onOneNode    = mutation.Tests{Package: "./engine/enginetest", Pattern: "^TestAnomalies$/^OneNode$", Environment: "CSMSQL_DIFFERENTIAL=30s"}
	onThreeNodes = mutation.Tests{Package: "./engine/enginetest", Pattern: "^TestAnomalies$/^ThreeNodes$", Environment: "CSMSQL_DIFFERENTIAL=30s"}
)

// ofIsolation are faults by which transactions see what their level rules out: they show in histories.
var ofIsolation = []mutation.Mutation{
	{Name: "two-transactions-change-one-row", File: "catalog/hugetable/deleted.go", Breaks: "K5", Tests: onOneNode,
		Old: "if positions.Meets(before, gone) {", New: "if positions.Meets(before, gone) && !ON {"},
	{Name: "blocks-move-on-every-level", File: "engine/block.go", Breaks: "E1", Tests: onOneNode,
		Old: "if b != nil && !b.modes.SeesOneSnapshot()", New: "if b != nil && (ON || !b.modes.SeesOneSnapshot())"},
	{Name: "serializable-blocks-have-read-nothing", File: "engine/block.go", Breaks: "K11", Tests: onOneNode,
		Old: "\tif !b.modes.Serializable() ||", New: "\tif ON || !b.modes.Serializable() ||"},
	{Name: "moves-forget-what-was-done", File: "catalog/advance.go", Breaks: "H5", Tests: onOneNode,
		Old: "\tt.base, t.own = to.Contents, own\n", New: "\tt.base, t.own = to.Contents, PICK(ON, to.Contents, own)\n"},
	{Name: "savepoints-bring-nothing-back", File: "engine/transaction/transaction.go", Breaks: "E4", Tests: onOneNode,
		Old: "\tif t.Changes != nil {\n\t\tat := t.Changes.Start()\n", New: "\tif t.Changes != nil && !ON {\n\t\tat := t.Changes.Start()\n"},
	{Name: "snapshots-ask-no-other-node", File: "catalog/follow.go", Breaks: "a snapshot has every commit that was reported before", Tests: onThreeNodes,
		Old: "func (c *Catalog) barrier(ctx context.Context) error {\n\tif !c.shared() {", New: "func (c *Catalog) barrier(ctx context.Context) error {\n\tif ON || !c.shared() {"},
	{Name: "keys-that-others-took-are-duplicates", File: "engine/transaction/transaction.go", Breaks: "TR7", Tests: runs("^TestUpsertsInBlocksLoseRaces$"),
		Old: "\tif t.Proposes && ", New: "\tif !ON && t.Proposes && "},
}
