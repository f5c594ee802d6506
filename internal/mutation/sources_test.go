package mutation_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence/model"
	"github.com/csmsql/csmsql/internal/mutation"
)

// sources are faults in what keeps readers of lent memory right (coherence, memregion, lending, borrowing, and the engine's way to the bytes) and in what
// stands around it: workers, the conversation with clients.
func sources() []mutation.Mutation {
	return slices.Concat(ofCoherence, ofMemregion, ofLending, ofBorrowing, ofCatalog, ofEngine, throughSQL(), ofPlans, ofWorkers, ofCustody, ofWire, ofRooms, ofLabels, ofIsolation)
}

// SourcesVariable has TestSources run those whose names match: "." are all.
const SourcesVariable = "CSMSQL_SOURCES"

func root(t *testing.T) string {
	path, err := filepath.Abs("../..")
	require.NoError(t, err)
	return path
}

// MU1: this is in every run of the tests, so that a change of the source that no longer fits the table is noticed at
// once.
func TestSourcesAreApplicable(t *testing.T) {
	require.NoError(t, mutation.Check(root(t), sources()))
}

// Steps that the model of package coherence mutates, and in which its emulated memory has no part, are in this table.
func TestFaultsOfTheModelAreInTheTable(t *testing.T) {
	all := sources()
	for _, m := range model.Mutations() {
		if fault := m.FaultInSource(); fault != "" {
			at := slices.IndexFunc(all, func(one mutation.Mutation) bool { return one.Name == fault })
			require.GreaterOrEqual(t, at, 0, "%v: there is no fault %s", m, fault)
			require.Empty(t, all[at].Explained, "%v: nothing sees %s", m, fault)
		}
	}
}

// TestSources is for a night: every fault is seen by the tests that are named for it, or the table says why none can.
func TestSources(t *testing.T) {
	text := os.Getenv(SourcesVariable)
	if text == "" {
		t.Skip(SourcesVariable + " is not set")
	}
	wanted, err := regexp.Compile(text)
	require.NoError(t, err)
	byTests := map[string][]mutation.Mutation{}
	for _, m := range sources() {
		if key := m.Tests.Package + " " + string(m.Tests.Tags); wanted.MatchString(m.Name) {
			byTests[key] = append(byTests[key], m)
		}
	}
	require.NotEmpty(t, byTests, "no name matches %s", text)
	for _, list := range byTests {
		tests := list[0].Tests
		t.Run(strings.TrimPrefix(tests.Package, "./")+string(tests.Tags), func(t *testing.T) { judge(t, tests, list) })
	}
}

func judge(t *testing.T, tests mutation.Tests, list []mutation.Mutation) {
	programs, err := mutation.Build(root(t), t.TempDir(), tests.Package, tests.Tags, list)
	require.NoError(t, err)
	count := map[mutation.Verdict]int{}
	err = mutation.Judge(programs, list, 5*time.Minute, func(r mutation.Result) {
		count[r.Verdict]++
		t.Log(r)
		if r.Verdict == mutation.Survived || r.Verdict == mutation.Refuted {
			t.Errorf("%s in %s (%s) is %v by %s -run %q\n%s", r.Name, r.File, r.Breaks, r.Verdict, r.Tests.Package, r.Tests.Pattern, r.Output[max(0, len(r.Output)-2000):])
		}
	})
	if err != nil { // what is said of the others counts
		t.Error(err)
	}
	t.Logf("%s: %d caught, %d explained, %d survived, %d refuted", tests.Package,
		count[mutation.Caught], count[mutation.Explained], count[mutation.Survived], count[mutation.Refuted])
}

var rewrite = flag.Bool("rewrite", false, "rewrite the documentation's table")

const documentation = "../../docs/mutations.md"

// TestSourcesAreDocumented holds the table in the documentation against this one; with -rewrite it writes it.
func TestSourcesAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("| fault | in | breaks | seen by |\n|---|---|---|---|\n")
	for _, m := range sources() {
		seen := strings.TrimPrefix(m.Tests.Package, "./") + ": " + strings.Trim(strings.ReplaceAll(m.Tests.Pattern, "|", ", "), "^()$")
		if m.Explained != "" {
			seen = "nothing: " + m.Explained
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", m.Name, m.File, m.Breaks, seen)
	}
	read, err := os.ReadFile(documentation)
	require.NoError(t, err)
	const begin, end = "<!-- begin sources -->\n", "<!-- end sources -->\n"
	before, rest, found := strings.Cut(string(read), begin)
	require.True(t, found)
	old, after, found := strings.Cut(rest, end)
	require.True(t, found)
	if *rewrite {
		require.NoError(t, os.WriteFile(documentation, []byte(before+begin+b.String()+end+after), 0o644))
		return
	}
	require.Equal(t, old, b.String(), "go test ./internal/mutation -run %s -rewrite", t.Name())
}
