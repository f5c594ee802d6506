package dialect

import (
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// Numbers are places of a statement's parameters, from 0, in ascending order: those that a piece of its text has.
type Numbers []int

// Dense numbers the parameters of a text from 1 without gaps, as DuckDB wants them, and says which they were.
func Dense(text string) (string, Numbers) {
	var numbers Numbers
	ReplaceTokens(text, func(token string, _ int) (string, bool) {
		if i := ParameterIndex(token); i >= 0 {
			numbers = append(numbers, i)
		}
		return "", false
	})
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	if n := len(numbers); n == 0 || numbers[n-1] == n-1 {
		return text, numbers
	}
	text, _ = ReplaceTokens(text, func(token string, _ int) (string, bool) {
		at, ok := slices.BinarySearch(numbers, ParameterIndex(token))
		return fmt.Sprint("$", at+1), ok
	})
	return text, numbers
}

// Pick gives the values of the piece's parameters.
func (n Numbers) Pick(args []any) []any {
	list := make([]any, 0, len(n))
	for _, i := range n {
		if i < len(args) {
			list = append(list, args[i])
		}
	}
	return list
}

// Merge puts the types of the piece's parameters where those of the statement are; those that are known there stay.
func (n Numbers) Merge(all, types []duckdb.ParameterType) []duckdb.ParameterType {
	for k, i := range n {
		for len(all) <= i {
			all = append(all, duckdb.TypeUnknown)
		}
		if k < len(types) && all[i] == duckdb.TypeUnknown {
			all[i] = types[k]
		}
	}
	return all
}
