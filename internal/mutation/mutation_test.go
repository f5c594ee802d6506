package mutation_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/mutation"
)

const counting = `package counting

// Least is the smaller one.
func Least(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// Sum adds, and counts how often.
func Sum(list []int) (sum, times int) {
	for i := 0; i < len(list); i++ {
		sum += list[i]
		times++
	}
	return sum, times
}
`

const countingTest = `package counting

import "testing"

func TestLeast(t *testing.T) {
	if Least(1, 2) != 1 || Least(2, 1) != 1 {
		t.Fatal("not the smaller one")
	}
}

func TestSum(t *testing.T) {
	t.Run("three", func(t *testing.T) {
		if sum, _ := Sum([]int{1, 2, 3}); sum != 6 {
			t.Fatal(sum)
		}
	})
}
`

func tree(t *testing.T) (root string) {
	root = t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	write("go.mod", "module github.com/csmsql/csmsql\n\ngo 1.25\n")
	write("counting/counting.go", counting)
	write("counting/counting_test.go", countingTest)
	return root
}

func of(name, old, fault string, tests string) mutation.Mutation {
	return mutation.Mutation{
		Name: name, File: "counting/counting.go", Old: old, New: fault, Breaks: "arithmetic", Tests: mutation.Tests{Package: "./counting", Pattern: tests},
	}
}

// A tree of two functions: faults that their tests see, that they do not see, and that no test could see. One binary
// has all that do not overlap.
func TestVerdicts(t *testing.T) {
	equal := of("either-of-two-equals", "if a < b {", "if a < b || ON && a == b {", "TestLeast")
	equal.Explained = "of two equal numbers both are the smaller one"
	refuted := of("never", "if a < b {\n", "if a < b && !ON {\n", "TestLeast")
	refuted.Explained = "it is said to make no difference"
	list := []mutation.Mutation{
		of("least-is-greatest", "a < b", "PICK(ON, a > b, a < b)", "TestLeast"),
		of("sums-without-the-last", "i < len(list)", "i < len(list)-PICK(ON, 1, 0)", "TestSum"),
		of("does-not-end", "sum += list[i]", "sum += list[i]\n\t\tfor ON {\n\t\t}", "TestSum"),
		of("counts-nothing", "times++", "", "TestSum"),
		equal, refuted,
	}
	root := tree(t)
	require.NoError(t, mutation.Check(root, list))
	programs, err := mutation.Build(root, t.TempDir(), "./counting", mutation.Checked, list)
	require.NoError(t, err)
	got, by := map[string]mutation.Verdict{}, map[string]string{}
	require.NoError(t, mutation.Judge(programs, list, time.Second, func(r mutation.Result) { got[r.Name], by[r.Name] = r.Verdict, r.By }))
	require.Equal(t, map[string]mutation.Verdict{
		"least-is-greatest": mutation.Caught, "sums-without-the-last": mutation.Caught, "does-not-end": mutation.Caught, "counts-nothing": mutation.Survived,
		"either-of-two-equals": mutation.Explained, "never": mutation.Refuted,
	}, got)
	require.Equal(t, "TestSum/three", by["sums-without-the-last"])
	require.Contains(t, by["does-not-end"], "did not end")
}

// MU2: tests that fail without a mutation, or that do not exist, catch nothing; others go on.
func TestBaseline(t *testing.T) {
	root := tree(t)
	for name, pattern := range map[string]string{"red without a mutation": "TestRed", "finds no test": "TestNowhere"} {
		red := "package counting\n\nimport \"testing\"\n\nfunc TestRed(t *testing.T) { t.Fatal() }\n"
		require.NoError(t, os.WriteFile(filepath.Join(root, "counting/red_test.go"), []byte(red), 0o600))
		list := []mutation.Mutation{of("m", "times++", "", pattern), of("sums-without-the-last", "i < len(list)", "i < len(list)-PICK(ON, 1, 0)", "TestSum")}
		programs, err := mutation.Build(root, t.TempDir(), "./counting", mutation.Checked, list)
		require.NoError(t, err)
		var judged []string
		require.ErrorContains(t, mutation.Judge(programs, list, time.Minute, func(r mutation.Result) { judged = append(judged, r.Name) }), name)
		require.Equal(t, []string{"sums-without-the-last"}, judged)
	}
}

// MU1.
func TestWhatIsNotApplicableIsAnError(t *testing.T) {
	root := tree(t)
	for want, m := range map[string]mutation.Mutation{
		"stands there 0 times":       of("gone", "times--", "", "TestSum"),
		"stands there 3 times":       of("thrice", "return", "return ON", "TestSum"),
		"never asks whether it is O": of("always", "times++", "times--", "TestSum"),
		"must all be said":           of("", "times++", "", "TestSum"),
		"no such file":               {Name: "n", File: "counting/none.go", Old: "x", Breaks: "b", Tests: mutation.Tests{Package: "./counting", Pattern: "T"}},
	} {
		require.ErrorContains(t, mutation.Check(root, []mutation.Mutation{m}), want)
	}
	twice := of("same", "times++", "", "TestSum")
	require.ErrorContains(t, mutation.Check(root, []mutation.Mutation{twice, twice}), "two of this name")
}
