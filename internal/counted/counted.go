// Package counted writes numbers of things as English has them: 1 chunk, 2 chunks, 0 chunks.
//
// # What it does not do
//
// It knows no noun whose plural is not made with an s.
package counted

import "strconv"

// Of is a number of things, by their name in the singular.
func Of[N int | int64 | uint64](n N, one string) string {
	return strconv.FormatInt(int64(n), 10) + " " + Noun(n, one)
}

// Noun is the name alone, for callers that write the number themselves.
func Noun[N int | int64 | uint64](n N, one string) string {
	if n == 1 {
		return one
	}
	return one + "s"
}
