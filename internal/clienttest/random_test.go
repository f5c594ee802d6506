package clienttest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// productions make random statements (testdata/postgres/grammar.txt).
type productions struct {
	random *rand.Rand
	small  map[string][]string // by type
	large  map[string][]string
}

var (
	innermost   = regexp.MustCompile(`«[^«»]*»`)
	placeholder = regexp.MustCompile(`<([a-z]+)>`)
	production  = regexp.MustCompile(`^([a-z]+)([:=]) (.*)$`)
)

// anyOf are the types that <any> stands for.
var anyOf = []string{"int", "big", "num", "flt", "text", "date", "ts", "tz", "iv", "bool", "ia", "ta"}

// readGrammar reads the productions, and the statements that come before all others.
func readGrammar(t *testing.T, seed uint64) (g *productions, setup []string) {
	t.Helper()
	data, err := os.ReadFile("testdata/postgres/grammar.txt")
	require.NoError(t, err)
	g = &productions{random: rand.New(rand.NewPCG(seed, 0)), small: map[string][]string{}, large: map[string][]string{}}
	section := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if name, is := strings.CutPrefix(line, "# "); is {
			section = name
			continue
		}
		switch {
		case line == "":
		case section == "setup":
			setup = append(setup, line)
		default:
			m := production.FindStringSubmatch(line)
			require.NotNil(t, m, line)
			to := g.large
			if m[2] == "=" {
				to = g.small
			}
			to[m[1]] = append(to[m[1]], m[3])
		}
	}
	return g, setup
}

func (g *productions) one(list []string) string { return list[g.random.IntN(len(list))] }

// expand chooses one of each list of alternatives, and puts an expression where one has a place.
func (g *productions) expand(text, of string, depth int) string {
	for innermost.MatchString(text) {
		at := innermost.FindStringIndex(text)
		inside := strings.TrimSuffix(strings.TrimPrefix(text[at[0]:at[1]], "«"), "»")
		text = text[:at[0]] + g.one(strings.Split(inside, ";")) + text[at[1]:]
	}
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		kind := strings.Trim(name, "<>")
		if kind == "any" {
			kind = of
		}
		return g.expression(kind, depth-1)
	})
}

// expression is one of a type, of so many levels at most.
func (g *productions) expression(kind string, depth int) string {
	switch {
	case depth <= 0 || g.random.IntN(5) == 0:
		return g.expand(g.one(g.small[kind]), kind, 0)
	case g.random.IntN(6) == 0:
		return g.expand(g.one(g.large["any"]), kind, depth)
	}
	return g.expand(g.one(g.large[kind]), kind, depth)
}

func (g *productions) statement() string {
	return g.expand(g.one(g.large["statement"]), g.one(anyOf), 2+g.random.IntN(2))
}

var fractions = regexp.MustCompile(`-?[0-9]+\.[0-9]+`)

// withoutZeros is a row with numbers without the zeros at their end: a numeric has them here of the column that it stands in.
func withoutZeros(row string) string {
	return fractions.ReplaceAllStringFunc(row, func(number string) string {
		number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
		if number == "-0" {
			return "0"
		}
		return number
	})
}

// TestRandomExpressions asks PostgreSQL 15 and csmsql random statements (testdata/postgres/grammar.txt): where both have
// rows they are the same. What one of them refuses is counted. CSMSQL_RANDOM_EXPRESSIONS is how long, CSMSQL_SEED of
// what; without them there are as many as take seconds.
func TestRandomExpressions(t *testing.T) {
	seed, most, until := uint64(1), 600, time.Time{}
	if given := os.Getenv("CSMSQL_RANDOM_EXPRESSIONS"); given != "" {
		d, err := time.ParseDuration(given)
		require.NoError(t, err)
		most, until = 1<<62, time.Now().Add(d)
		seed, err = strconv.ParseUint(os.Getenv("CSMSQL_SEED"), 10, 64)
		require.NoError(t, err, "CSMSQL_SEED")
	}
	t.Logf("CSMSQL_SEED=%d", seed)
	g, setup := readGrammar(t, seed)
	theirs := &side{dsn: startPostgres(t), setup: setup}
	ours := &side{dsn: shared.dsn() + " options='-c csm.dialect=postgres'", setup: setup}
	theirs.begin(t)
	ours.begin(t)
	counts, examples := map[string]int{}, map[string]string{}
	for n := 0; n < most && (until.IsZero() || time.Now().Before(until)); n++ {
		sql := g.statement()
		want, got := theirs.ask(t, sql), ours.ask(t, sql)
		for _, a := range []*reply{&want, &got} {
			for i := range a.rows {
				a.rows[i] = withoutZeros(a.rows[i])
			}
		}
		kind := want.difference(got)
		switch {
		case kind == "":
			kind = "same"
		case kind == "sqlstate", kind == "refused", kind == "accepted":
			kind += fmt.Sprint(" ", want.state, ">", got.state)
		case kind == "value":
			t.Errorf("%s\n\tPostgreSQL %s\n\tcsmsql     %s", sql, want, got)
		}
		counts[kind]++
		examples[kind] = sql
	}
	require.Equal(t, "DROP SCHEMA", ours.ask(t, "DROP SCHEMA asked CASCADE").tag)
	theirs.end(t)
	ours.end(t)
	for _, kind := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return counts[b] - counts[a] }) {
		t.Logf("%6d %s, as in %s", counts[kind], kind, examples[kind])
	}
	require.Greater(t, counts["same"], 300)
}
