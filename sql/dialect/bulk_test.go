package dialect

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/bulk"
	"github.com/csmsql/csmsql/sql/lex"
)

// bulk.BU1: what is spared the translation of INSERTs of constants would have been as it was.
func TestConstantsAreNotTranslated(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 14))
	words := slices.Concat(differing, []string{"/", "%", "#", "^", "<<", "a DESC", "interval '1 day'", "'", ",", ")", "(", "é", "\\", "--", "/*", "%(", "IN (1", "ROW(", "ANY ("})
	for range 3000 {
		var b strings.Builder
		fmt.Fprintf(&b, "INSERT INTO %s VALUES", []string{"t", "s.t (a, \"int\")", "date", "t (values_, desc_)", "null_t"}[r.IntN(5)])
		for row := range 1 + r.IntN(3) {
			b.WriteString([]string{" (", ", ("}[min(row, 1)])
			for column := range 1 + r.IntN(4) {
				b.WriteString([]string{"", ", "}[min(column, 1)])
				switch r.IntN(5) {
				case 0:
					fmt.Fprintf(&b, "%d", r.IntN(1000)-500)
				case 1:
					fmt.Fprintf(&b, "%.3f", r.NormFloat64())
				case 2:
					b.WriteString([]string{"NULL", "true", "FALSE", "null"}[r.IntN(4)])
				default:
					text := words[r.IntN(len(words))] + " " + words[r.IntN(len(words))]
					b.WriteString("'" + strings.ReplaceAll(text, "'", "''") + "'")
				}
			}
			b.WriteString(")")
		}
		sql := b.String()
		require.True(t, bulk.Constants(lex.Client.Text(sql)), sql)
		text, made, err := translate(lex.Client.Text(sql))
		require.NoError(t, err, sql)
		require.Equal(t, sql, text)
		require.Empty(t, made)
	}
}
