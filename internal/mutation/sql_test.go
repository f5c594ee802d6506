package mutation_test

import (
	"slices"

	"github.com/csmsql/csmsql/internal/mutation"
)

// answers are right, whoever writes and reads, over memory that is not coherent.
var answers = asks("^TestAnswersOnIncoherentMemory$")

// tails are those of extents that are longer than what is written there.
var tails = mutation.Tests{Package: "./engine", Pattern: "^TestAnswersOnIncoherentMemory$", Environment: "CSMSQL_EXTENT_BYTES=65536"}

// throughSQL are faults of the other tables that answers of queries show as well: steps that no test of the engine leaves out by itself
// (TestMutationsThroughSQL), since what stands between the protocol and its caches cannot tell them from others.
func throughSQL() (list []mutation.Mutation) {
	tests := map[string]mutation.Tests{
		"shrink-without-a-flush":               tails,
		"close-without-a-flush":                answers,
		"compares-what-its-caches-have":        answers,
		"versions-go-while-leased":             outlived,
		"grant-does-not-prepare":               answers,
		"clean-flushes-nothing-without-copies": answers,
	}
	for _, m := range slices.Concat(ofCoherence, ofLending, ofBorrowing, ofCatalog) {
		if by, ok := tests[m.Name]; ok {
			m.Name, m.Tests = "sql-"+m.Name, by
			list = append(list, m)
		}
	}
	return list
}
