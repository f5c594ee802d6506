package queries

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

const (
	// fixedPointDigits is the largest scale that the decimal arithmetic of the
	// queries gives: 2 + 2 + 2 digits, in sum_charge of Q1.
	fixedPointDigits = 6
	// relativeTolerance for floating point results (A3): a few thousand units
	// in the last place, for sums that are added up in another order.
	relativeTolerance = 1e-12
)

// Difference is the first place where a result is not the answer.
type Difference struct {
	Row    int    // from 1; 0 if the header differs
	Column string // name in the answer; "" if a whole row or the header differs
	Got    string
	Want   string
	Detail string // what differs, if it is not a cell
}

// Error says where and how the result differs.
func (d *Difference) Error() string {
	switch {
	case d.Row == 0:
		return fmt.Sprintf("queries: %s: got %s, want %s", d.Detail, d.Got, d.Want)
	case d.Column == "":
		return fmt.Sprintf("queries: row %d: %s: got %s, want %s", d.Row, d.Detail, d.Got, d.Want)
	}
	return fmt.Sprintf("queries: row %d, column %s: got %q, want %q", d.Row, d.Column, d.Got, d.Want)
}

// Compare returns nil if the result is the answer by the rules A1 to A4 of the
// package comment, else a *Difference. NULL must be given as "".
func (a Answer) Compare(columns []string, rows [][]string) error {
	if d := a.compareColumns(columns); d != nil {
		return d
	}
	for i, row := range rows {
		if i >= len(a.Rows) {
			return &Difference{Row: i + 1, Detail: fmt.Sprintf("surplus row (the answer has %d, the result %d)", len(a.Rows), len(rows)), Got: strings.Join(row, "|"), Want: "no such row"}
		}
		if d := a.compareRow(i, row); d != nil {
			return d
		}
	}
	if len(rows) < len(a.Rows) {
		return &Difference{Row: len(rows) + 1, Detail: fmt.Sprintf("missing row (the answer has %d, the result %d)", len(a.Rows), len(rows)), Got: "no such row", Want: strings.Join(a.Rows[len(rows)], "|")}
	}
	return nil
}

func (a Answer) compareColumns(columns []string) *Difference {
	same := len(columns) == len(a.Columns)
	for i := 0; same && i < len(columns); i++ {
		same = columns[i] == a.Columns[i] || strings.HasPrefix(columns[i], a.Columns[i]+"(")
	}
	if same {
		return nil
	}
	return &Difference{Detail: "columns", Got: strings.Join(columns, "|"), Want: strings.Join(a.Columns, "|")}
}

func (a Answer) compareRow(i int, row []string) *Difference {
	want := a.Rows[i]
	if len(row) != len(want) {
		return &Difference{Row: i + 1, Detail: "number of cells", Got: strconv.Itoa(len(row)), Want: strconv.Itoa(len(want))}
	}
	for j, cell := range row {
		if !sameCell(cell, want[j]) {
			return &Difference{Row: i + 1, Column: a.Columns[j], Got: cell, Want: want[j]}
		}
	}
	return nil
}

// sameCell is A2 and A3.
func sameCell(got, want string) bool {
	if got == want {
		return true
	}
	gotNumber, gotOK := parseNumber(got)
	wantNumber, wantOK := parseNumber(want)
	if !gotOK || !wantOK {
		return false
	}
	if gotNumber.Cmp(wantNumber) == 0 {
		return true
	}
	return (isFloatingPoint(got) || isFloatingPoint(want)) && near(gotNumber, wantNumber)
}

// parseNumber accepts decimal notation with an optional exponent, nothing else:
// no spaces, no hexadecimal, no fraction bars, no infinities.
func parseNumber(text string) (*big.Rat, bool) {
	if text == "" || len(text) > 64 || strings.Trim(text, "+-.eE0123456789") != "" {
		return nil, false
	}
	// The float's range bounds the exponent: a Rat would write 1e999999999 out.
	if value, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(value, 0) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// isFloatingPoint reports whether a number's text cannot be a decimal of the
// queries.
func isFloatingPoint(text string) bool {
	if strings.ContainsAny(text, "eE") {
		return true
	}
	_, fraction, _ := strings.Cut(text, ".")
	return len(fraction) > fixedPointDigits
}

func near(got, want *big.Rat) bool {
	g, _ := got.Float64()
	w, _ := want.Float64()
	return math.Abs(g-w) <= relativeTolerance*math.Abs(w)
}
