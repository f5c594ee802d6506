package lex_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/sql/lex"
)

// A text gives the tokens that its dialect finds, from wherever its readers ask, and finds each once.
func TestText(t *testing.T) {
	found := map[int]int{}
	defer lex.Found.Hear(func(f lex.Finding) { found[f.Start]++ })()
	rapid.Check(t, func(t *rapid.T) {
		sql := mixtures(t)
		for name, d := range dialects {
			boundaries := []int{0}
			var whole []lex.Token
			for token := d.Next(sql, 0); ; token = d.Next(sql, token.End()) {
				whole = append(whole, token)
				boundaries = append(boundaries, token.Start, token.End())
				if token.Kind == lex.End {
					break
				}
			}
			want := map[int]lex.Token{}
			for _, at := range boundaries {
				want[at] = d.Next(sql, at)
			}
			clear(found)
			read := d.Text(sql)
			for _, at := range rapid.SliceOfN(rapid.SampledFrom(boundaries), 1, 20).Draw(t, "at") {
				require.Equal(t, want[at], read.Next(at), "%s: %q at %d", name, sql, at)
			}
			var tokens []lex.Token
			for token := range read.Tokens() {
				tokens = append(tokens, token)
			}
			for i, token := range tokens {
				require.Equal(t, whole[i], token)
			}
			require.True(t, whole[len(tokens)].Ends())
			for at, n := range found {
				require.Equal(t, 1, n, "%s: %q at %d", name, sql, at)
			}
			require.True(t, !invariants.Enabled || len(found) >= len(tokens))
		}
	})
}
