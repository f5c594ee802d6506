package pgformat

import (
	"math"
	"time"
)

// Numeric is an exact number in PostgreSQL's text form: "-12.50", "NaN", "Infinity", "-Infinity". It never has an
// exponent.
type Numeric string

// Date counts days since 1970-01-01 (proleptic Gregorian).
type Date int32

// The dates that are later and earlier than all others.
const (
	DateInfinity         Date = math.MaxInt32
	DateNegativeInfinity Date = math.MinInt32
)

// Timestamp counts microseconds since 1970-01-01 00:00:00; for timestamptz in UTC, for timestamp in no zone.
type Timestamp int64

// The timestamps that are later and earlier than all others.
const (
	TimestampInfinity         Timestamp = math.MaxInt64
	TimestampNegativeInfinity Timestamp = math.MinInt64
)

// Time converts to time.Time in UTC; ok is false for the two infinities.
func (t Timestamp) Time() (at time.Time, ok bool) {
	if t == TimestampInfinity || t == TimestampNegativeInfinity {
		return time.Time{}, false
	}
	return time.UnixMicro(int64(t)).UTC(), true
}

// TimeOfDay counts microseconds since midnight, 0 to 86,400,000,000 (24:00:00).
type TimeOfDay int64

// Interval is PostgreSQL's: the three parts are independent.
type Interval struct {
	Months       int32
	Days         int32
	Microseconds int64
}

// UUID is 16 bytes in network order.
type UUID [16]byte

// Array is a PostgreSQL array. Elements are in row-major order, each as Value.Data would be; an empty array has no
// dimensions.
type Array struct {
	ElementOID uint32
	Dimensions []int
	Elements   []any
}
