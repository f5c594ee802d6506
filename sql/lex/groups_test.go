package lex_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/lex"
)

func TestGroups(t *testing.T) {
	const sql = `f(a[1], (b) ')' /* ( */)::x (c`
	g := lex.NewGroups(lex.Client.Text(sql))
	around := func(text string) (groups string) {
		for at := g.At(strings.Index(sql, text)); at >= 0; at = g.Around(at) {
			groups += sql[g.Start(at) : g.Start(at)+1]
		}
		return groups
	}
	for text, want := range map[string]string{
		"f": "", "a[": "(", "1": "[(", "b)": "((", "')'": "(", "::": "", "c": "(", "nothing": "", "*": "",
	} {
		require.Equal(t, want, around(text), text)
	}
	start, end, ok := g.ClosedBefore(strings.Index(sql, "::"))
	require.True(t, ok)
	require.Equal(t, "(a[1], (b) ')' /* ( */)", sql[start:end])
	start, end, ok = g.ClosedBefore(strings.Index(sql, "')'"))
	require.True(t, ok)
	require.Equal(t, "(b)", sql[start:end])
	start, end, ok = g.BracketBefore(strings.Index(sql, ", ("))
	require.True(t, ok)
	require.Equal(t, "[1]", sql[start:end])
	_, _, ok = g.BracketBefore(strings.Index(sql, "::"))
	require.False(t, ok)
	for _, text := range []string{"f", "a[", ", (", "x", "c", "*"} {
		_, _, ok := g.ClosedBefore(strings.Index(sql, text))
		require.False(t, ok, text)
	}
	_, _, ok = lex.NewGroups(lex.Client.Text("a)::b")).ClosedBefore(2)
	require.False(t, ok, "nothing is opened")
}
