package mutation_test

import (
	"slices"

	"github.com/csmsql/csmsql/internal/mutation"
)

// answers are correct over memory that is not coherent, on whichever node writes and reads happen.
var answers = asks("^TestAnswersOnIncoherentMemory$")

// tails are those of extents that are longer than what is written there.
var tails = mutation.Tests{Package: "./engine", Pattern: "^TestAnswersOnIncoherentMemory$", Environment: "CSMSQL_EXTENT_BYTES=65536"}

var (
	// moving has extents moved by their lenders while they are written. What a writer's caches have of the longer one
	// is fetched again by memory that is emulated, so that nothing is seen of
	// grow-does-not-drop-what-the-lender-stored.
	moving = asks("^TestExtentsThatMoveOnIncoherentMemory$")
	// copied has replicas copied, flushed piece by piece, and their memory used again.
	copied = asks("^TestMemoryOfReplicasOnIncoherentMemory$")
)

// throughSQL are faults of the other tables that answers of queries show as well: steps that no test of the engine leaves out by itself
// (TestMutationsThroughSQL), since what stands between the protocol and its caches cannot distinguish them from others.
func throughSQL() (list []mutation.Mutation) {
	tests := map[string]mutation.Tests{
		"shrink-without-a-flush":               tails,
		"close-without-a-flush":                answers,
		"compares-what-its-caches-have":        answers,
		"versions-go-while-leased":             outlived,
		"grant-does-not-prepare":               answers,
		"clean-flushes-nothing-without-copies": answers,

		"grow-without-a-flush":                         moving,
		"copies-what-its-caches-have":                  moving,
		"keeps-lines-of-what-it-copied":                moving,
		"copies-a-line-less":                           moving,
		"grant-takes-a-line-behind-a-copy-for-flushed": copied,
	}
	for _, m := range slices.Concat(ofCoherence, ofLending, ofBorrowing, ofCatalog) {
		if by, ok := tests[m.Name]; ok {
			m.Name, m.Tests = "sql-"+m.Name, by
			list = append(list, m)
		}
	}
	return list
}
