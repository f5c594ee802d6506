package pgformat

import (
	"math"
	"strings"
	"time"
)

// parseTemporal reads ISO dates, times and timestamps; ok is false for all that is not one.
func parseTemporal(oid uint32, text string, zone *time.Location) (value any, ok bool) {
	if n := len(text) - len(" BC"); n > 0 && strings.EqualFold(text[n:], " bc") && oid != Time {
		return parseBeforeChrist(oid, text[:n], zone)
	}
	switch oid {
	case DateOID:
		switch strings.ToLower(text) {
		case "infinity":
			return DateInfinity, true
		case "-infinity":
			return DateNegativeInfinity, true
		}
		days, rest, ok := parseDate(text)
		return Date(days), ok && rest == "" && days > math.MinInt32 && days < math.MaxInt32
	case Time:
		micros, rest, ok := parseClock(text)
		return TimeOfDay(micros), ok && rest == ""
	case TimestampNT, TimestampTZ:
		switch strings.ToLower(text) {
		case "infinity":
			return TimestampInfinity, true
		case "-infinity":
			return TimestampNegativeInfinity, true
		}
		return parseTimestamp(text, oid == TimestampTZ, zone)
	}
	return nil, false
}

// parseBeforeChrist reads what stands before BC. Year 1 BC is 0.
func parseBeforeChrist(oid uint32, text string, zone *time.Location) (value any, ok bool) {
	year, rest, ok := parseNumber(text, 4, 6)
	if !ok || year == 0 || !strings.HasPrefix(rest, "-") {
		return nil, false
	}
	// The calendar repeats itself after 400 years: a year of our era with the same days is read in its place.
	const days, cycle = 146_097, 400
	cycles := year/cycle + 1
	stands := cycle*cycles + 1 - year
	digits := string(appendDigits(nil, uint64(stands), 4))
	if oid == TimestampTZ && !hasOffset(rest) { // which the zone has at that time, and not then
		return nil, false
	}
	value, ok = parseTemporal(oid, digits+rest, zone)
	switch v := value.(type) {
	case Date:
		moved := int64(v) - days*cycles
		return Date(moved), ok && moved > math.MinInt32+1
	case Timestamp:
		moved := int64(v) - days*cycles*microsPerDay
		return Timestamp(moved), ok && cycles < math.MaxInt64/(2*days*microsPerDay)
	}
	return nil, false
}

// hasOffset reports whether an offset from UTC stands behind the clock of a timestamp whose year was cut off.
func hasOffset(rest string) bool {
	clock := strings.IndexByte(rest, ':')
	return clock >= 0 && strings.ContainsAny(rest[clock:], "+-Zz")
}

// parseDate reads "2024-02-29" at the start of text.
func parseDate(text string) (days int64, rest string, ok bool) {
	year, rest, ok := parseNumber(text, 4, 6)
	if !ok || !strings.HasPrefix(rest, "-") {
		return 0, text, false
	}
	month, rest, ok := parseNumber(rest[1:], 1, 2)
	if !ok || !strings.HasPrefix(rest, "-") {
		return 0, text, false
	}
	day, rest, ok := parseNumber(rest[1:], 1, 2)
	if !ok || year == 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, text, false
	}
	return daysOf(year, month, day), rest, true
}

func parseNumber(text string, least, most int) (number int64, rest string, ok bool) {
	digits := 0
	for digits < len(text) && digits < most && text[digits] >= '0' && text[digits] <= '9' {
		number = number*10 + int64(text[digits]-'0')
		digits++
	}
	return number, text[digits:], digits >= least
}

func daysIn(year, month int64) int64 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysOf is the inverse of civil.
func daysOf(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	century := floorDiv(year, 100)
	return 365*year + floorDiv(year, 4) - century + floorDiv(century, 4) + (153*month-457)/5 + day - 719_469
}

// parseClock reads "12:34", "12:34:56" or "12:34:56.789" at the start of text.
func parseClock(text string) (micros int64, rest string, ok bool) {
	hours, rest, ok := parseNumber(text, 1, 2)
	if !ok || !strings.HasPrefix(rest, ":") {
		return 0, text, false
	}
	minutes, rest, ok := parseNumber(rest[1:], 2, 2)
	if !ok {
		return 0, text, false
	}
	seconds, fraction := int64(0), int64(0)
	if strings.HasPrefix(rest, ":") {
		if seconds, rest, ok = parseNumber(rest[1:], 2, 2); !ok {
			return 0, text, false
		}
		if strings.HasPrefix(rest, ".") {
			if fraction, rest, ok = parseFraction(rest[1:]); !ok {
				return 0, text, false
			}
		}
	}
	if hours > 24 || minutes > 59 || seconds > 59 {
		return 0, text, false
	}
	micros = hours*microsPerHour + minutes*microsPerMinute + seconds*microsPerSecond + fraction
	return micros, rest, micros <= microsPerDay
}

// parseFraction reads up to six digits; more are left to the database, which has to round.
func parseFraction(text string) (micros int64, rest string, ok bool) {
	number, rest, ok := parseNumber(text, 1, 6)
	if !ok || rest != "" && rest[0] >= '0' && rest[0] <= '9' {
		return 0, text, false
	}
	for digits := len(text) - len(rest); digits < 6; digits++ {
		number *= 10
	}
	return number, rest, true
}

// parseTimestamp reads "2024-02-29 12:34:56.789+01". A timestamptz without an offset is meant in zone.
func parseTimestamp(text string, withZone bool, zone *time.Location) (value any, ok bool) {
	days, rest, ok := parseDate(text)
	if !ok {
		return nil, false
	}
	micros := int64(0)
	if rest != "" {
		if rest[0] != ' ' && rest[0] != 'T' {
			return nil, false
		}
		if micros, rest, ok = parseClock(rest[1:]); !ok {
			return nil, false
		}
	}
	const daysMax = math.MaxInt64/microsPerDay - 2
	if days > daysMax || days < -daysMax {
		return nil, false
	}
	local := days*microsPerDay + micros
	if !withZone {
		// PostgreSQL ignores an offset here, which is so surprising that the database shall decide.
		return Timestamp(local), rest == ""
	}
	if rest == "" {
		return Timestamp(local - zoneOffset(local, zone)), true
	}
	offset, ok := parseZoneSuffix(rest)
	return Timestamp(local - offset*microsPerSecond), ok
}

// zoneOffset finds the offset in µs of a local time, as time.Date does for ambiguous ones.
func zoneOffset(local int64, zone *time.Location) int64 {
	if zone == nil {
		return 0
	}
	at := time.UnixMicro(local).UTC()
	year, month, day := at.Date()
	meant := time.Date(year, month, day, at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), zone)
	_, seconds := meant.Zone()
	return int64(seconds) * microsPerSecond
}

// parseZoneSuffix reads "Z", "+01", "+0130", "-03:30" or "+00:53:28".
func parseZoneSuffix(text string) (seconds int64, ok bool) {
	if text == "Z" || text == "z" {
		return 0, true
	}
	if text == "" || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	negative := text[0] == '-'
	unit := int64(3600)
	for rest := text[1:]; rest != ""; unit /= 60 {
		number, after, ok := parseNumber(rest, 2, 2)
		if !ok || unit == 0 || unit < 3600 && number > 59 || number > 15 && unit == 3600 {
			return 0, false
		}
		seconds += number * unit
		rest = strings.TrimPrefix(after, ":")
		if after == ":" {
			return 0, false
		}
	}
	if negative {
		seconds = -seconds
	}
	return seconds, unit < 3600
}
