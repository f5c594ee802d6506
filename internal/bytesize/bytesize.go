// Package bytesize reads and writes sizes as people do: 512MiB, 4G, 1.5 GiB.
package bytesize

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, and a command-line flag (pflag.Value). Units are powers of 1024, with or without "i" and
// "B", in either case: a user who asks for 4G of memory does not mean 4,000,000,000 bytes.
type Size int64

const units = "KMGTP"

// Parse reads a size.
func Parse(text string) (Size, error) {
	number := strings.TrimRight(strings.TrimSpace(text), "iIbBkKmMgGtTpP ")
	unit := strings.ToUpper(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), number)))
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	power := 0
	if unit != "" {
		if power = strings.Index(units, unit) + 1; len(unit) != 1 || power == 0 {
			return 0, fmt.Errorf("%q is not a size: write it like 512MiB or 4G", text)
		}
	}
	value, err := strconv.ParseFloat(number, 64)
	value *= math.Pow(1024, float64(power))
	if err != nil || value < 0 || value >= math.MaxInt64 || math.IsNaN(value) {
		return 0, fmt.Errorf("%q is not a size: write it like 512MiB or 4G", text)
	}
	return Size(value), nil
}

// Text writes a number of bytes as String does.
func Text(n int64) string { return Size(n).String() }

// String writes the size with three or four significant digits: 512 MiB, 1.46 GiB.
func (s Size) String() string {
	if s < 1024 {
		return strconv.FormatInt(int64(s), 10) + " B"
	}
	value, power := float64(s), 0
	for value >= 1024 && power < len(units) {
		value /= 1024
		power++
	}
	digits := 2
	if value >= 100 {
		digits = 0
	} else if value >= 10 {
		digits = 1
	}
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + units[power-1:power] + "iB"
}

// Set implements pflag.Value.
func (s *Size) Set(text string) (err error) {
	*s, err = Parse(text)
	return err
}

// Type implements pflag.Value: what help shows.
func (s *Size) Type() string { return "size" }
