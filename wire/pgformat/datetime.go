package pgformat

import (
	"bytes"
	"time"
)

const (
	microsPerSecond = 1_000_000
	microsPerMinute = 60 * microsPerSecond
	microsPerHour   = 60 * microsPerMinute
	microsPerDay    = 24 * microsPerHour

	// daysTo2000 and microsTo2000 move between the epochs: Arrow's 1970-01-01 and PostgreSQL's 2000-01-01.
	daysTo2000   = 10957
	microsTo2000 = daysTo2000 * microsPerDay
)

// civil converts days since 1970-01-01 to a proleptic Gregorian date; year 0 is 1 BC. After Neri and Schneider,
// "Euclidean affine functions and their application to calendar algorithms" (2022), widened to all of int32.
func civil(days int64) (year int64, month, day uint32) {
	// Shift to a positive count from 0000-03-01 of a cycle far in the past.
	const cycles = 20_000
	n := uint64(days + 719_468 + 146_097*cycles)
	century := (4*n + 3) / 146_097
	ofCentury := uint32((4*n+3)%146_097) / 4
	scaled := uint64(2_939_745) * uint64(4*ofCentury+3)
	yearOfCentury := uint32(scaled >> 32)
	dayOfYear := uint32(scaled) / 2_939_745 / 4
	shifted := 2141*dayOfYear + 197_913
	month = shifted >> 16
	day = (shifted&0xffff)/2141 + 1
	year = int64(100*century) + int64(yearOfCentury) - 400*cycles
	if dayOfYear >= 306 {
		return year + 1, month - 12, day
	}
	return year, month, day
}

// appendYMD appends a date without era: "2024-02-29". Years before 1 are counted as BC by the caller's suffix.
func appendYMD(dst []byte, year int64, month, day uint32) []byte {
	if year <= 0 {
		year = 1 - year
	}
	if year < 10_000 {
		dst = append2(dst, uint32(year)/100)
		dst = append2(dst, uint32(year)%100)
	} else {
		dst = appendUint(dst, uint64(year))
	}
	return append(dst, '-', digitPairs[2*month], digitPairs[2*month+1], '-', digitPairs[2*day], digitPairs[2*day+1])
}

// appendDate appends a date in ISO style; infinities as PostgreSQL names them.
func appendDate(dst []byte, date Date) []byte {
	switch date {
	case DateInfinity:
		return append(dst, "infinity"...)
	case DateNegativeInfinity, DateNegativeInfinity + 1: // DuckDB's is -MaxInt32
		return append(dst, "-infinity"...)
	}
	year, month, day := civil(int64(date))
	dst = appendYMD(dst, year, month, day)
	if year <= 0 {
		dst = append(dst, " BC"...)
	}
	return dst
}

// appendClock appends "12:34:56" or "12:34:56.789", trailing zeros dropped. 24:00:00 is possible.
func appendClock(dst []byte, micros int64) []byte {
	seconds := uint32(micros / microsPerSecond)
	fraction := uint32(micros - int64(seconds)*microsPerSecond)
	minutes := seconds / 60
	hours := minutes / 60
	h, m, s := 2*hours, 2*(minutes-hours*60), 2*(seconds-minutes*60)
	dst = append(dst, digitPairs[h], digitPairs[h+1], ':', digitPairs[m], digitPairs[m+1], ':', digitPairs[s], digitPairs[s+1])
	if fraction == 0 {
		return dst
	}
	return appendFraction(dst, fraction)
}

// appendFraction appends ".789" for 789000 µs.
func appendFraction(dst []byte, micros uint32) []byte {
	dst = append(dst, '.')
	dst = appendDigits(dst, uint64(micros), 6)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// isInfinite recognises the infinities of PostgreSQL and DuckDB (whose negative one is -MaxInt64).
func (t Timestamp) isInfinite() bool {
	return t == TimestampInfinity || t <= TimestampNegativeInfinity+1
}

func appendInfinity(dst []byte, t Timestamp) []byte {
	if t > 0 {
		return append(dst, "infinity"...)
	}
	return append(dst, "-infinity"...)
}

// dayCache remembers the text of the last date: neighbouring timestamps tend to share it.
type dayCache struct {
	days  int64
	text  [32]byte // room for what appendDigits borrows
	size  int
	isBC  bool
	valid bool
}

// appendDay appends the date part of a timestamp.
func (c *dayCache) appendDay(dst []byte, days int64) []byte {
	if !c.valid || c.days != days {
		year, month, day := civil(days)
		c.size = len(appendYMD(c.text[:0], year, month, day))
		c.days, c.isBC, c.valid = days, year <= 0, true
	}
	return append(dst, c.text[:c.size]...)
}

// appendTimestamp appends "2024-02-29 12:34:56.789".
func (c *dayCache) appendTimestamp(dst []byte, t Timestamp) []byte {
	if t.isInfinite() {
		return appendInfinity(dst, t)
	}
	days := floorDiv(int64(t), microsPerDay)
	dst = c.appendDay(dst, days)
	dst = append(dst, ' ')
	dst = appendClock(dst, int64(t)-days*microsPerDay)
	if c.isBC {
		dst = append(dst, " BC"...)
	}
	return dst
}

// appendNanoseconds appends "2024-02-29 12:34:56.123456789", for nanoseconds since 1970: more digits than
// PostgreSQL's timestamps have, which its clients read nevertheless. None of these years is before Christ.
func (c *dayCache) appendNanoseconds(dst []byte, nanos int64) []byte {
	const perSecond = 1_000_000_000
	seconds := floorDiv(nanos, perSecond)
	dst = c.appendTimestamp(dst, Timestamp(seconds*microsPerSecond))
	dst = append(dst, '.')
	dst = appendDigits(dst, uint64(nanos-seconds*perSecond), 9)
	return bytes.TrimRight(dst, "0")
}

// zoneCache prints instants in a zone; it remembers the period in which the last offset holds.
type zoneCache struct {
	day        dayCache
	zone       *time.Location
	start, end int64 // µs since 1970 between which offset holds; start == end: none yet
	offset     int64 // seconds east of UTC
	suffix     [9]byte
	suffixSize int
}

// appendInstant appends "2024-02-29 12:34:56.789+01".
func (c *zoneCache) appendInstant(dst []byte, t Timestamp) []byte {
	if t.isInfinite() {
		return appendInfinity(dst, t)
	}
	if int64(t) < c.start || int64(t) >= c.end {
		c.look(int64(t))
	}
	local := int64(t) + c.offset*microsPerSecond
	days := floorDiv(local, microsPerDay)
	dst = c.day.appendDay(dst, days)
	dst = append(dst, ' ')
	dst = appendClock(dst, local-days*microsPerDay)
	dst = append(dst, c.suffix[:c.suffixSize]...)
	if c.day.isBC {
		dst = append(dst, " BC"...)
	}
	return dst
}

// look finds the offset at an instant and how long it holds.
func (c *zoneCache) look(micros int64) {
	const allTime = 1 << 62
	at := time.UnixMicro(micros).In(c.zone)
	_, offset := at.Zone()
	c.offset = int64(offset)
	c.start, c.end = -allTime, allTime
	if from, to := at.ZoneBounds(); true {
		if !from.IsZero() {
			c.start = from.UnixMicro()
		}
		if !to.IsZero() {
			c.end = to.UnixMicro()
		}
	}
	c.suffixSize = len(appendOffset(c.suffix[:0], offset))
}

// appendOffset appends "+01", "-03:30" or "+00:53:28".
func appendOffset(dst []byte, seconds int) []byte {
	sign := byte('+')
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	dst = append2(append(dst, sign), uint32(seconds/3600))
	if seconds%3600 != 0 {
		dst = append2(append(dst, ':'), uint32(seconds/60%60))
	}
	if seconds%60 != 0 {
		dst = append2(append(dst, ':'), uint32(seconds%60))
	}
	return dst
}

func floorDiv(a, b int64) int64 {
	quotient := a / b
	if a%b < 0 {
		quotient--
	}
	return quotient
}

// appendInterval appends in the style "postgres": "1 year 2 mons -3 days +04:05:06".
func appendInterval(dst []byte, v Interval) []byte {
	start := len(dst)
	negative := false // the sign of the last part: a positive one after a negative one is written out
	part := func(value int64, unit string) {
		if value == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if negative && value > 0 {
			dst = append(dst, '+')
		}
		dst = appendInt(dst, value)
		dst = append(dst, unit...)
		if value != 1 {
			dst = append(dst, 's')
		}
		negative = value < 0
	}
	part(int64(v.Months/12), " year")
	part(int64(v.Months%12), " mon")
	part(int64(v.Days), " day")
	if v.Microseconds == 0 && len(dst) > start {
		return dst
	}
	if len(dst) > start {
		dst = append(dst, ' ')
	}
	return appendDuration(dst, v.Microseconds, negative)
}

// appendDuration appends a signed clock whose hours may have any number of digits.
func appendDuration(dst []byte, micros int64, afterNegative bool) []byte {
	magnitude := uint64(micros)
	if micros < 0 {
		dst = append(dst, '-')
		magnitude = -magnitude
	} else if afterNegative {
		dst = append(dst, '+')
	}
	hours := magnitude / microsPerHour
	rest := magnitude % microsPerHour
	if hours < 100 {
		dst = append2(dst, uint32(hours))
	} else {
		dst = appendUint(dst, hours)
	}
	dst = append2(append(dst, ':'), uint32(rest/microsPerMinute))
	dst = append2(append(dst, ':'), uint32(rest%microsPerMinute/microsPerSecond))
	if fraction := uint32(rest % microsPerSecond); fraction != 0 {
		dst = appendFraction(dst, fraction)
	}
	return dst
}
