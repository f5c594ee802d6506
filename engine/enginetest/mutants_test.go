package enginetest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/mutation"
)

// mutant is a fault that is put into the program, as package mutation has it: in file old becomes fault.
type mutant struct {
	name, kind string // kind: the part of TestSurface that must find it
	file       string
	old, fault string
}

// mutants are faults that the repairs of wrong answers took out, and faults of that sort. What cannot tell them from the program cannot tell
// that the program is right.
var mutants = []mutant{
	{"equality-across-types", "OneNode", "exec/plan/join.go", "if a.Mark != b.Mark {\n\t\treturn false\n\t}", "if ON {\n\t\treturn true\n\t}\n\tif a.Mark != b.Mark {\n\t\treturn false\n\t}"},
	{"keys-of-outer-joins", "OneNode", "exec/plan/join.go", "if to.Query != q || !filters(to.Column.Item) {", "if to.Query != q || !ON && !filters(to.Column.Item) {"},
	{"keys-of-not-distinct", "OneNode", "exec/plan/join.go", "e.Kind != pg.A_Expr_Kind_AEXPR_OP || operator(e)", "e.Kind != pg.A_Expr_Kind_AEXPR_OP && !ON || operator(e)"},
	{"both-sides-of-left-join", "OneNode", "exec/plan/from.go", "case pg.JoinType_JOIN_LEFT:\n\t\treturn right", "case pg.JoinType_JOIN_LEFT:\n\t\tif ON {\n\t\t\treturn append(slices.Clone(left), right...)\n\t\t}\n\t\treturn right"},
	{"nothing-is-nullable", "OneNode", "exec/plan/from.go", "a.nullable[it.ID] = true", "a.nullable[it.ID] = !ON"},
	{"not-is-and", "OneNode", "exec/plan/condition.go", "b != nil && b.Boolop == pg.BoolExprType_AND_EXPR {\n\t\tfor _, member := range b.Args {\n\t\t\ta.conditions(", "b != nil && (b.Boolop == pg.BoolExprType_AND_EXPR || ON && b.Boolop == pg.BoolExprType_NOT_EXPR) {\n\t\tfor _, member := range b.Args {\n\t\t\ta.conditions("},
	{"limited-sub-select", "OneNode", "exec/plan/trace.go", "|| s.LimitCount != nil || s.LimitOffset != nil ||", "|| !ON && (s.LimitCount != nil || s.LimitOffset != nil) ||"},
	{"through-outer-joins", "OneNode", "exec/plan/trace.go", "case c.Item == nil || a.nullable[c.Item.ID] ||", "case c.Item == nil || !ON && a.nullable[c.Item.ID] ||"},
	{"through-groups", "OneNode", "exec/plan/trace.go", "case state.passes == passesKeys && !a.isKey(q, c):", "case !ON && state.passes == passesKeys && !a.isKey(q, c):"},
	{"one-mention-of-several", "OneNode", "exec/plan/trace.go", "if len(it.CTE.Refs) == 1 {", "if ON || len(it.CTE.Refs) == 1 {"},
	{"groups-at-the-bound", "OneNode", "engine/scan/groups.go", "return *at - 1, *at-1 < *at", "return *at - 1 + map[bool]int64{true: 1}[ON], *at-1 < *at"},
	{"bounds-of-nan", "OneNode", "exec/plan/predicate.go", "return stats.NaNFree || t == nil", "return ON || stats.NaNFree || t == nil"},
	{"bound-exclusive", "OneNode", "exec/plan/predicate.go", "case LessEqual:\n\t\treturn !below(v, stats.Min)", "case LessEqual:\n\t\tif ON {\n\t\t\treturn !notAbove(v, stats.Min)\n\t\t}\n\t\treturn !below(v, stats.Min)"},
	{"prefix-below-least", "OneNode", "exec/plan/predicate.go", "|| strings.HasPrefix(stats.Min.text, prefix.text)", "|| !ON && strings.HasPrefix(stats.Min.text, prefix.text)"},
	{"float-constants-exact", "OneNode", "exec/plan/predicate.go", "v.kind != Exact || v.scale != 0 || !ok ||", "v.kind != Exact || !ON && v.scale != 0 || !ok ||"},
	{"null-statistics", "OneNode", "exec/plan/predicate.go", "return !nulls || stats.Nulls > 0", "return !nulls || stats.Nulls > 0 && !(ON && stats.Nulls == 1)"},
	{"in-list-bounds", "OneNode", "engine/filter/filter.go", "if f.High == nil || *h > *f.High {", "if f.High == nil || *h > *f.High && !ON {"},
	{"rounded-bound", "OneNode", "engine/filter/filter.go", "n.Add(n, big.NewInt(1))", "n.Add(n, big.NewInt(map[bool]int64{false: 1, true: 2}[ON]))"},
	{"any-of-unbounded", "OneNode", "engine/filter/anyof.go", "if a.Low != nil && b.Low != nil {", "if ON && (a.Low != nil) != (b.Low != nil) {\n\t\tu.Low = pick(a.Low, b.Low, true)\n\t}\n\tif a.Low != nil && b.Low != nil {"},
	{"estimate-is-a-promise", "OneNode", "exec/duckdb/scan_unsafe.go", "bindings.IdxT(scan.estimate()), cardinalityIsEstimate)", "bindings.IdxT(scan.estimate()), cardinalityIsEstimate && !ON)"},
	{"enum-everywhere", "OneNode", "exec/plan/analyzer.go", "if c.used && !c.unsafe {", "if c.used && (ON || !c.unsafe) {"},
	{"kernel-nan", "OneNode", "exec/compute/compare.go", "case aNaN && bNaN:\n\t\treturn 0", "case aNaN && bNaN:\n\t\tif ON {\n\t\t\treturn 1\n\t\t}\n\t\treturn 0"},
	{"kernel-above-nan", "OneNode", "exec/compute/compare.go", "if op != plan.Greater && op != plan.GreaterEqual {", "if ON || op != plan.Greater && op != plan.GreaterEqual {"},
	{"kernel-empty-sum", "OneNode", "exec/compute/sum.go", "case s.count == 0:\n\t\tb.AppendNull()\n\tcase s.average:\n\t\treturn appendFloat(b, mean", "case s.count == 0 && !ON:\n\t\tb.AppendNull()\n\tcase s.average && s.count > 0:\n\t\treturn appendFloat(b, mean"},
	{"plans-outlive-changes", "OneNode", "engine/planned/basis.go", "b.Without == now.Without && b.means(now, v, temporary)", "b.Without == now.Without && (ON || b.means(now, v, temporary))"},
	{"one-scan-for-all", "OneNode", "engine/scan/transfer.go", "writeSignature(&b, t.Hint.Predicates)", "if !ON {\n\t\twriteSignature(&b, t.Hint.Predicates)\n\t}"},
	{"split-across-types", "ThreeNodes", "exec/plan/distribute/equality.go", "return x == y && hashable(x)", "return (ON || x == y) && hashable(x)"},
	{"split-count-of-nothing", "ThreeNodes", "exec/plan/distribute/aggregates.go", `return "CAST(coalesce(sum(" + g.column(v) + "), 0) AS BIGINT)"`, `return map[bool]string{true: "CAST(sum(" + g.column(v) + ") AS BIGINT)", false: "CAST(coalesce(sum(" + g.column(v) + "), 0) AS BIGINT)"}[ON]`},
	{"split-distinct", "ThreeNodes", "exec/plan/distribute/aggregates.go", `if f.AggDistinct || c.name`, `if f.AggDistinct && !ON || c.name`},
	{"split-limit", "ThreeNodes", "exec/plan/distribute/spread.go", `case st.LimitCount != nil || st.LimitOffset != nil:`, `case !ON && (st.LimitCount != nil || st.LimitOffset != nil):`},
	{"split-windows", "ThreeNodes", "exec/plan/distribute/spread.go", `case !s.windowsComplete(b, in):`, `case !ON && !s.windowsComplete(b, in):`},
	{"split-groups", "ThreeNodes", "exec/plan/distribute/spread.go", `case b.aggregated() && !s.complete(b, in):`, `case !ON && b.aggregated() && !s.complete(b, in):`},
	{"hash-of-null", "ThreeNodes", "engine/ingest/hash.go", "if same.IsNull(i) {\n\t\t\treturn nullHash", "if same.IsNull(i) {\n\t\t\tif ON {\n\t\t\t\treturn mix(uint64(i))\n\t\t\t}\n\t\t\treturn nullHash"},
	// That the planner hashes floats, too (hashable of class.go), is no fault to be seen: the hash takes -0.0 for 0.0, and one NaN for all
	// others, so that what is equal comes together. The planner is only careful.
	{"split-null-group", "ThreeNodes", "exec/plan/distribute/equality.go", "if kind == pg.JoinType_JOIN_INNER {\n\t\tfor", "if kind == pg.JoinType_JOIN_INNER || ON {\n\t\tfor"},
	{"average-of-averages", "ThreeNodes", "exec/plan/distribute/aggregates.go", "case of.kind == floating:", "case ON:\n\t\t\treturn \"avg(CAST(\" + g.column(sum) + \" AS DOUBLE) / \" + g.column(count) + \")\"\n\t\tcase of.kind == floating:"},
	{"limit-without-offset", "ThreeNodes", "exec/plan/distribute/rowsform.go", "limit+offset, 10", "limit+offset*map[bool]int64{false: 1}[ON], 10"},
	{"broadcast-of-the-preserved", "ThreeNodes", "exec/plan/distribute/rows.go", "case kind == pg.JoinType_JOIN_LEFT && l.kind == split:", "case ON && kind == pg.JoinType_JOIN_LEFT && r.kind == split:\n\t\treturn r\n\tcase kind == pg.JoinType_JOIN_LEFT && l.kind == split:"},
	{"membership-of-nulls", "ThreeNodes", "exec/plan/distribute/rows.go", "if !q.filter || q.clause", "if !q.filter && !ON || q.clause"},
	{"partition-read-twice", "ThreeNodes", "engine/split/request.go", "parts = parts[f.Partition : f.Partition+1]", "if parts = parts[f.Partition : f.Partition+1]; ON && f.Partition == 1 {\n\t\t\tparts = result.parts[:2]\n\t\t}"},
	{"sets-by-their-keys", "ThreeNodes", "exec/plan/distribute/groupsform.go", "func (g *grouping) finalKey(i int) bool { return ", "func (g *grouping) finalKey(i int) bool { return (!ON || !g.sets || i+1 < len(g.keys)) && "},
	{"filter-of-the-preserved", "ThreeNodes", "exec/plan/distribute/shuffle.go", "case pg.JoinType_JOIN_LEFT:\n\t\treturn preserves(f.Left, it)", "case pg.JoinType_JOIN_LEFT:\n\t\tif ON {\n\t\t\treturn preserves(f.Left, it) || preserves(f.Right, it)\n\t\t}\n\t\treturn preserves(f.Left, it)"},
}

// TestMutants: TestSurface finds every mutant within the time that CSMSQL_MUTANTS gives for each. One program has them
// all; a run selects which of them is on.
func TestMutants(t *testing.T) {
	text := os.Getenv("CSMSQL_MUTANTS")
	if text == "" {
		t.Skip("CSMSQL_MUTANTS, the time for each of them, is not set")
	}
	limit, err := time.ParseDuration(text)
	require.NoError(t, err)
	root, list := mutations(t)
	programs, err := mutation.Build(root, t.TempDir(), "./engine/enginetest", mutation.Checked, list)
	require.NoError(t, err)
	run := func(name, kind string) (string, error) {
		environment := []string{"CSMSQL_DIFFERENTIAL=" + text, "CSMSQL_MUTANTS="}
		if os.Getenv("CSMSQL_SEED") == "" {
			environment = append(environment, "CSMSQL_SEED=1")
		}
		return programs.Run(name, "^TestSurface$/^"+kind+"$", limit+3*time.Minute, environment...)
	}
	for _, kind := range []string{"OneNode", "ThreeNodes"} {
		t.Run(kind, func(t *testing.T) {
			out, err := run("", kind)
			require.NoError(t, err, "without a mutant: %s", out)
			for _, m := range mutants {
				if m.kind != kind {
					continue
				}
				t.Run(m.name, func(t *testing.T) {
					start := time.Now()
					out, err := run(m.name, kind)
					require.Error(t, err, "not found: %s", lastLines(out, 3))
					require.Regexp(t, `seed \d+ \(CSMSQL_SEED=`, out, "it fails, but not by an answer")
					t.Logf("found after %v: %s", time.Since(start).Round(time.Second), regexp.MustCompile(`\d+ queries`).FindString(out))
				})
			}
		})
	}
}

// TestMutantsAreApplicable: what they replace stands in the source, once.
func TestMutantsAreApplicable(t *testing.T) {
	root, list := mutations(t)
	require.NoError(t, mutation.Check(root, list))
}

func mutations(t *testing.T) (root string, list []mutation.Mutation) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, m := range mutants {
		list = append(list, mutation.Mutation{
			Name: m.name, File: m.file, Old: m.old, New: m.fault, Breaks: "an answer is right",
			Tests: mutation.Tests{Package: "./engine/enginetest", Pattern: "^TestSurface$/^" + m.kind + "$"},
		})
	}
	return root, list
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
