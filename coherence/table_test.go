package coherence_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/coherence/model"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// mutationSeeds is how many schedules of the emulated memory each mutation is given; "make mutations" gives it more.
const mutationSeeds = 50

// verdict is what becomes of one mutation on one fabric.
type verdict struct {
	mutation model.Mutation
	class    coherence.Class
	steps    int // of the model's shortest trace to a wrong value, with the load; 0 if there is none
	first    int // schedules until a reader of the emulated memory loads a wrong value; 0 if none does
	caught   int // schedules with a wrong value
}

func (v verdict) survives() bool {
	return v.steps == 0 || v.first == 0 && v.mutation.FaultInSource() == ""
}

// emulated is what the emulated memory says, or where that is found.
func (v verdict) emulated() string {
	if fault := v.mutation.FaultInSource(); fault != "" {
		return "[" + fault + "](mutations.md)"
	}
	return fmt.Sprint(v.first)
}

func judge(t *testing.T, mutation model.Mutation, class coherence.Class, seeds int) verdict {
	v := verdict{mutation: mutation, class: class}
	if trace := counterexample(t, mutation, class); trace != nil {
		v.steps = len(trace.Moments) + 1
	}
	if mutation.FaultInSource() != "" {
		return v
	}
	line := max(effectsOf[mutation].line, 512)
	for seed := range seeds {
		s := newSimulation(class, line, uint64(seed), mutation)
		if wrong := s.run(simulationRounds); wrong != nil {
			v.caught++
			if v.first == 0 {
				v.first = seed + 1
			}
		}
		require.NoError(t, s.broken, "%v on %v, seed %d", mutation, class, seed)
	}
	return v
}

// counterexample returns the model's shortest trace to a wrong value, or nil.
func counterexample(t *testing.T, mutation model.Mutation, class coherence.Class) *model.Trace {
	key := verdict{mutation: mutation, class: class}
	if trace, known := counterexamples[key]; known {
		return trace
	}
	m := model.New(model.Config{Class: class, Mutation: mutation})
	result, err := m.Search(model.C1)
	require.NoError(t, err)
	var trace *model.Trace
	if result.Violation != nil {
		trace = m.Trace(result)
	}
	counterexamples[key] = trace
	return trace
}

// counterexamples are searched once: several tests ask. Those tests are not parallel.
var counterexamples = map[verdict]*model.Trace{}

// TestMutationTable is "make mutations": it mutates every step in turn, on both fabrics, in the model and in the
// emulated memory. It fails if one of them finds no wrong value, and docs/coherence.md shows the table.
func TestMutationTable(t *testing.T) {
	seeds := mutationSeeds * testsuite.Effort()
	var full, short strings.Builder
	fmt.Fprintf(&full, "\n%-52s %-22s %-10s %-12s %s\n", "mutation", "fabric", "model", "emulator", fmt.Sprintf("caught, of %d", seeds))
	fmt.Fprintf(&short, "| mutation | fabric | model: steps to a wrong value | emulated memory: schedules until one |\n|---|---|---|---|\n")
	for _, mutation := range model.Mutations() {
		_, played := effectsOf[mutation]
		require.Equal(t, mutation.FaultInSource() == "", played, "%v does nothing in the emulated memory, or is a fault in the source as well", mutation)
		for _, class := range mutation.Classes() {
			v := judge(t, mutation, class, seeds)
			fmt.Fprintf(&full, "%-52v %-22v %-10s %-12s %d\n", mutation, class, fmt.Sprintf("%d steps", v.steps), fmt.Sprintf("seed %d", v.first), v.caught)
			fmt.Fprintf(&short, "| %v | %v | %d | %s |\n", mutation, class, v.steps, v.emulated())
			if v.survives() {
				t.Errorf("%v survives on %v: 0 is none", mutation, class)
			}
		}
	}
	for _, class := range model.Classes() {
		m := model.New(model.Config{Class: class})
		result, err := m.Search(model.Everything)
		require.NoError(t, err)
		if result.Violation != nil {
			t.Errorf("the protocol as it is: %v\n%v", result.Violation, m.Trace(result))
		}
		for seed := range seeds {
			s := newSimulation(class, 512, uint64(seed), model.None)
			require.NoError(t, s.run(simulationRounds), "the protocol as it is, seed %d", seed)
			require.NoError(t, s.broken, "the protocol as it is, seed %d", seed)
		}
		fmt.Fprintf(&full, "%-52v %-22v holds in %d states and %d schedules\n", model.None, class, result.States, seeds)
		fmt.Fprintf(&short, "| %v | %v | holds in all %d states | holds |\n", model.None, class, result.States)
	}
	t.Log(full.String())
	document(t, "mutations", short.String())
}

// TestThePapersOrderIsDocumented puts the model's traces of the papers' order into the documentation.
func TestThePapersOrderIsDocumented(t *testing.T) {
	for _, class := range model.Classes() {
		document(t, "papers "+class.String(), "```\n"+counterexample(t, model.PapersOrder, class).String()+"```\n")
	}
}

const documentation = "../docs/coherence.md"

// document holds a generated part of the documentation against text; with -rewrite it puts it there.
func document(t *testing.T, part, text string) {
	t.Helper()
	b, err := os.ReadFile(documentation)
	require.NoError(t, err)
	begin, end := fmt.Sprintf("<!-- begin %s -->\n", part), fmt.Sprintf("<!-- end %s -->\n", part)
	pattern := regexp.MustCompile("(?s)" + regexp.QuoteMeta(begin) + "(.*)" + regexp.QuoteMeta(end))
	found := pattern.FindSubmatchIndex(b)
	require.NotNil(t, found, "%s has no part %q", documentation, part)
	if flag.Lookup("rewrite").Value.String() == "true" {
		text := string(b[:found[2]]) + text + string(b[found[3]:])
		require.NoError(t, os.WriteFile(documentation, []byte(text), 0o644))
		return
	}
	require.Equal(t, string(b[found[2]:found[3]]), text, "go test ./coherence -run %s -rewrite", t.Name())
}
