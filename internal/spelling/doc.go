// Package spelling reports whether a name may be another one, mistyped.
//
// # Words
//
// The distance of two names is Levenshtein's (Soviet Physics Doklady 10, 1966): how many characters have to be put in,
// taken out or replaced to make one the other.
//
// # What it does not do
//
// It has no list of names: callers bring theirs.
package spelling

import "strings"

// Distance is that of a and b, in bytes.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// Near is the greatest distance at which a name is worth proposing in place of the typed one: a third of its
// characters, at least one and at most three, as in PostgreSQL.
func Near(typed string) int { return min(max(len(typed)/3, 1), 3) }

// Nearest is the name of a list, all in small letters, for which typed may be a misspelling; empty: none.
func Nearest(typed string, list []string) string {
	for _, name := range list {
		if Distance(strings.ToLower(typed), name) <= Near(typed) {
			return name
		}
	}
	return ""
}
