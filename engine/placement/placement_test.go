package placement_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/placement"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "local",
		"  LOCAL ":                "local",
		"node(n1)":                "node(n1)",
		"Node ( rack-1.n-2 )":     "node(rack-1.n-2)",
		"rows":                    "rows",
		"rows(a,b)":               "rows(a, b)",
		"hash(k)":                 "hash(k)",
		"hash(K, \"a \"\"b\")":    `hash(K, "a ""b")`,
		"hash(k) on (n0, \"n)\")": `hash(k) on (n0, "n)")`,
		"hash(k)on(n0)":           "hash(k) on (n0)",
		"hash(on) ON (on)":        "hash(on) on (on)",
		"hash(k)on(n)Dividing":    "hash(k) on (n) dividing",
		"hash(k) dividing":        "hash(k) dividing",
		"rows(größe)":             "rows(größe)",
	} {
		p, err := placement.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, p.String())
	}
	for text, problem := range map[string]string{
		"nod":                                    "there is no placement \"nod\"",
		"(a)":                                    "there is no placement \"(\"",
		"local(a)":                               "is too much",
		"node":                                   "'(' is missing at the end",
		"node()":                                 "the name of a node is expected, there is \")\"",
		"node(a, b)":                             "takes one name, there are 2",
		"node(a":                                 "')' is missing at the end, behind node \"a\"",
		"rows(a b)":                              "')' is expected behind node \"a\", there is \"b\"",
		"rows(a, a)":                             "node \"a\" is there twice",
		"rows()":                                 "expected",
		"hash":                                   "is missing",
		"hash()":                                 "the name of a column",
		"hash(k, K)":                             "column \"K\" is there twice",
		"hash(k) on":                             "is missing",
		"hash(k) over (a)":                       "is too much",
		"hash(k) dividing on (a)":                "is too much",
		"rows(a) dividing":                       "is too much",
		"hash(\"k":                               "has no end",
		"node(\"\")":                             "expected",
		"node(\"a\x00\")":                        "zero byte",
		"\xff":                                   "UTF-8",
		"rows x":                                 "is too much",
		"node(" + strings.Repeat("a", 256) + ")": "longer than 255",
	} {
		_, err := placement.Parse(text)
		require.ErrorContains(t, err, problem, text)
		var state interface{ SQLState() string }
		require.ErrorAs(t, err, &state)
		require.Equal(t, "22023", state.SQLState())
	}
}

func TestWithout(t *testing.T) {
	for _, c := range []struct {
		text, node, want string
		left             bool
	}{
		{"rows(a, b)", "a", "rows(b)", true},
		{"hash(k) on (a, b, c)", "b", "hash(k) on (a, c)", true},
		{"hash(k) on (a, b) dividing", "b", "hash(k) on (a) dividing", true},
		{"node(a)", "a", "node(a)", false},
		{"rows(a)", "a", "rows(a)", false},
		{"rows(a, b)", "c", "rows(a, b)", true},
		{"rows", "a", "rows", true},
	} {
		p, err := placement.Parse(c.text)
		require.NoError(t, err)
		before := p.String()
		q, left := p.Without(c.node)
		require.Equal(t, c.want, q.String())
		require.Equal(t, c.left, left, c.text)
		require.Equal(t, before, p.String(), "the original is not changed")
	}
}

// P1 and P2.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"local", "node(n1)", "rows(a, b)", `hash("x ""y", k) on (n0, "n 1")`, "hash(k) on", "rows(a,,b)", "node(\"", "Rows ( é )"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := placement.Parse(text)
		if err != nil {
			require.Equal(t, placement.Placement{}, p)
			return
		}
		again, err := placement.Parse(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
		require.Equal(t, p.String(), again.String())
	})
}
