// Package mutation puts faults into the program's source, one at a time, and says whether its tests see them. A test
// that passes both with and without a fault says nothing about the invariant that the fault breaks.
//
//	table of mutations ──► Build ──► a test binary with all of them in it ──► Run(name, tests) ──► caught, survived or explained
//	 file, old text, new     │        (go test -c -overlay)                      │
//	                         └ each old text stands exactly once                 └ CSMSQL_MUTANT says which of them is on
//
// Nothing in the tree changes: the go command reads the changed files in place of the real ones. All mutations are
// compiled at once, each behind a switch, because linking takes longer than most tests. Mutations whose texts overlap
// come into different binaries.
//
// # Words
//
//   - mutation: one change of source that breaks an invariant, and the tests that must fail then
//   - applicable: its old text stands in its file exactly once
//   - caught: a test named for it failed, or did not end in time
//   - survived: they all passed
//   - explained: it cannot be distinguished from the program, and the table says why
//   - baseline: the same tests with no mutation on; they pass
//
// # Invariants
//
//   - MU1: a mutation that is not applicable is an error, also where nothing is run (Check, in every "make test")
//   - MU2: what is caught passes without the mutation: the baseline runs first, and once more where a mutation did not
//     end in time
//   - MU3: an explained mutation that is caught is an error: the explanation is wrong
//
// # What it does not do
//
// It finds no faults by itself: people write the tables. It changes no assembly and no file outside of a package.
// It does not say that tests are good, only that they see these faults. It starts one program at a time.
package mutation
