package plan

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
)

// folder turns constant expressions into values. It folds only what DuckDB reads in exactly one way; everything else is
// "not a constant", which costs a hint and never an answer.
type folder struct {
	sql string // the user's text: the tree alone does not distinguish 0x10 from 16
}

func (f folder) constant(n *pg.Node) (Value, bool) {
	switch e := n.GetNode().(type) {
	case *pg.Node_AConst:
		return f.literal(e.AConst)
	case *pg.Node_ParamRef:
		return ParameterValue(int(e.ParamRef.Number)), e.ParamRef.Number > 0
	case *pg.Node_TypeCast:
		return f.cast(e.TypeCast)
	case *pg.Node_AExpr:
		return f.arithmetic(e.AExpr)
	}
	return Value{}, false
}

func (f folder) literal(c *pg.A_Const) (Value, bool) {
	if c.Isnull {
		return NullValue(), true
	}
	switch v := c.Val.(type) {
	case *pg.A_Const_Ival:
		return IntValue(int64(v.Ival.GetIval())), f.plainNumber(c.Location)
	case *pg.A_Const_Fval:
		if !f.plainNumber(c.Location) {
			return Value{}, false
		}
		return number(v.Fval.GetFval())
	case *pg.A_Const_Sval:
		return TextValue(v.Sval.GetSval()), true
	case *pg.A_Const_Boolval:
		return BoolValue(v.Boolval.GetBoolval()), true
	}
	return Value{}, false
}

// plainNumber: the text at the literal is decimal digits, a point, an exponent; not 0x1F or 1_000, which the two
// dialects might read differently.
func (f folder) plainNumber(location int32) bool {
	if location < 0 || int(location) >= len(f.sql) {
		return false
	}
	text := strings.TrimLeft(f.sql[location:], "-+ \t\r\n")
	digits := 0
	for digits < len(text) && (lex.IsDigit(text[digits]) || text[digits] == '.') {
		digits++
	}
	if digits == 0 {
		return false
	}
	if digits == len(text) {
		return true
	}
	switch next := text[digits]; {
	case next == 'e' || next == 'E':
		return digits+1 < len(text) && (lex.IsDigit(text[digits+1]) || text[digits+1] == '-' || text[digits+1] == '+')
	case lex.IsLetter(next):
		return false
	}
	return true
}

// maxDecimalDigits is the widest DECIMAL there is.
const maxDecimalDigits = 38

// number reads a numeric literal as DuckDB types it: with an exponent DOUBLE, with a point DECIMAL, else an integer.
func number(s string) (Value, bool) {
	if strings.ContainsAny(s, "eE") {
		d, err := strconv.ParseFloat(s, 64)
		return DoubleValue(d), err == nil
	}
	digits := strings.TrimLeft(s, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(whole)+len(fraction) > maxDecimalDigits-1 || len(whole)+len(fraction) == 0 {
		return Value{}, false
	}
	for i := 0; i < len(digits); i++ {
		if !lex.IsDigit(digits[i]) && digits[i] != '.' {
			return Value{}, false
		}
	}
	unscaled, ok := decimalFromDigits(whole + fraction)
	if !ok {
		return Value{}, false
	}
	if strings.HasPrefix(s, "-") {
		unscaled = unscaled.Negate()
	}
	return DecimalValue(unscaled, int32(len(fraction))), true
}

func decimalFromDigits(digits string) (decimal128.Num, bool) {
	if len(digits) <= 18 {
		i, err := strconv.ParseInt(digits, 10, 64)
		return decimal128.FromI64(i), err == nil
	}
	n, err := decimal128.FromString(digits, maxDecimalDigits, 0)
	return n, err == nil
}

// typeName gives the unqualified name of a type that pg_catalog or the user wrote, without arrays.
func typeName(t *pg.TypeName) string {
	if t == nil || len(t.ArrayBounds) > 0 || t.Setof || len(t.Names) == 0 || len(t.Names) > 2 {
		return ""
	}
	if len(t.Names) == 2 && t.Names[0].GetString_().GetSval() != "pg_catalog" {
		return ""
	}
	return t.Names[len(t.Names)-1].GetString_().GetSval()
}

func (f folder) cast(c *pg.TypeCast) (Value, bool) {
	name := typeName(c.TypeName)
	if name == "" {
		return Value{}, false
	}
	v, ok := f.constant(c.Arg)
	if !ok {
		return Value{}, false
	}
	if name == "timestamp" && len(c.TypeName.Typmods) > 0 || name == "varchar" && len(c.TypeName.Typmods) > 0 {
		return Value{}, false
	}
	return castValue(v, name)
}

// castValue folds the casts whose result is beyond doubt.
func castValue(v Value, name string) (Value, bool) {
	if v.kind == Null {
		return v, true
	}
	switch name {
	case "date":
		if v.kind == Text && !v.typed {
			return dateFromText(v.text)
		}
		return v, v.kind == Date
	case "timestamp":
		if v.kind == Text && !v.typed {
			return timestampFromText(v.text)
		}
		return v, v.kind == Timestamp
	case "uuid":
		if v.kind == Text && !v.typed {
			return uuidFromText(v.text)
		}
		return v, v.kind == UUID || v.kind == Parameter // which has that type then, and no other
	case "text", "varchar":
		v.typed = true
		return v, v.kind == Text
	case "int2", "int4", "int8":
		i, fits := v.int64()
		return v, v.kind == Exact && v.scale == 0 && fits && fitsInteger(i, name)
	}
	return Value{}, false
}

func fitsInteger(i int64, name string) bool {
	switch name {
	case "int2":
		return i == int64(int16(i))
	case "int4":
		return i == int64(int32(i))
	}
	return true
}

// dateFromText takes YYYY-MM-DD and nothing else.
func dateFromText(s string) (Value, bool) {
	if len(s) != len(time.DateOnly) || s < "0001" {
		return Value{}, false
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return Value{}, false
	}
	return DateValue(int32(t.Unix() / 86400)), true
}

const uuidBytes = 16

// uuidFromText takes 32 hexadecimal digits with dashes where they belong, or none.
func uuidFromText(s string) (Value, bool) {
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		s = s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	}
	bytes, err := hex.DecodeString(s)
	return UUIDValue(bytes), err == nil && len(bytes) == uuidBytes
}

// timestampFromText takes YYYY-MM-DD, or that with HH:MM:SS and up to six digits of fraction.
func timestampFromText(s string) (Value, bool) {
	if v, ok := dateFromText(s); ok {
		return TimestampValue(midnight(v.int)), true
	}
	const seconds = len(time.DateTime)
	if len(s) < seconds || len(s) > seconds+7 || s < "0001" || len(s) == seconds+1 {
		return Value{}, false
	}
	if len(s) > seconds && s[seconds] != '.' {
		return Value{}, false
	}
	t, err := time.Parse("2006-01-02 15:04:05", s)
	if err != nil {
		return Value{}, false
	}
	return TimestampValue(t.UnixMicro()), true
}

// interval is a calendar distance; the three parts apply one after another, months first.
type interval struct {
	months, days int64
}

// Bits of an interval's field mask, as PostgreSQL's grammar hands them over (utils/datetime.h: 1 << MONTH and so on).
const (
	fieldMonth = 1 << 1
	fieldYear  = 1 << 2
	fieldDay   = 1 << 3
)

// intervalConstant reads interval '90' day, interval '3 months' and their kin, for whole years, months, weeks and days.
func (f folder) intervalConstant(n *pg.Node) (interval, bool) {
	c := n.GetTypeCast()
	if c == nil || typeName(c.TypeName) != "interval" || len(c.TypeName.Typmods) > 1 {
		return interval{}, false
	}
	text := c.Arg.GetAConst().GetSval().GetSval()
	if len(c.TypeName.Typmods) == 0 {
		count, unit, found := strings.Cut(text, " ")
		if !found {
			return interval{}, false
		}
		return intervalOf(count, strings.TrimSuffix(strings.ToLower(unit), "s"))
	}
	switch c.TypeName.Typmods[0].GetAConst().GetIval().GetIval() {
	case fieldYear:
		return intervalOf(text, "year")
	case fieldMonth:
		return intervalOf(text, "month")
	case fieldDay:
		return intervalOf(text, "day")
	}
	return interval{}, false
}

// maxIntervalUnits keeps every folded date inside the years that both dialects write with four digits or nearly so.
const maxIntervalUnits = 1_000_000

func intervalOf(count, unit string) (interval, bool) {
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n > maxIntervalUnits || n < -maxIntervalUnits || strings.HasPrefix(count, "+") {
		return interval{}, false
	}
	switch unit {
	case "year":
		return interval{months: 12 * n}, true
	case "month":
		return interval{months: n}, true
	case "week":
		return interval{days: 7 * n}, true
	case "day":
		return interval{days: n}, true
	}
	return interval{}, false
}

func (f folder) arithmetic(e *pg.A_Expr) (Value, bool) {
	op := operator(e)
	if op == "-" && e.Lexpr == nil {
		v, ok := f.constant(e.Rexpr)
		return negate(v, ok)
	}
	if e.Lexpr == nil || op != "+" && op != "-" {
		return Value{}, false
	}
	sign := int64(1)
	if op == "-" {
		sign = -1
	}
	left, ok := f.constant(e.Lexpr)
	if !ok {
		return Value{}, false
	}
	if left.kind == Exact {
		right, ok := f.constant(e.Rexpr)
		return addExact(left, right, sign, ok)
	}
	if left.kind != Date && left.kind != Timestamp {
		return Value{}, false
	}
	if step, ok := f.intervalConstant(e.Rexpr); ok {
		return shift(left, interval{months: sign * step.months, days: sign * step.days})
	}
	right, ok := f.constant(e.Rexpr)
	days, fits := right.int64()
	if !ok || left.kind != Date || right.kind != Exact || right.scale != 0 || !fits || days > maxIntervalUnits || days < -maxIntervalUnits {
		return Value{}, false
	}
	return inDateRange(DateValue(int32(left.int + sign*days)))
}

// addExact adds small numbers of one scale: within these limits no type of DuckDB's overflows.
func addExact(left, right Value, sign int64, ok bool) (Value, bool) {
	a, aok := left.int64()
	b, bok := right.int64()
	const limit = 1 << 30
	small := -limit < a && a < limit && -limit < b && b < limit
	if !ok || !aok || !bok || !small || right.kind != Exact || left.scale != right.scale {
		return Value{}, false
	}
	return DecimalValue(decimal128.FromI64(a+sign*b), left.scale), true
}

func negate(v Value, ok bool) (Value, bool) {
	switch {
	case !ok:
	case v.kind == Exact:
		v.num = v.num.Negate()
		return v, true
	case v.kind == Double:
		v.float = -v.float
		return v, true
	}
	return Value{}, false
}

// shift adds an interval to a date (which makes it a TIMESTAMP in DuckDB) or to a timestamp: months first, keeping
// the day of the month or taking the month's last one, then days.
func shift(v Value, step interval) (Value, bool) {
	days, rest := v.int, int64(0)
	if v.kind == Timestamp {
		days = floorDiv(v.int, microsPerDay)
		rest = v.int - days*microsPerDay
	}
	t := time.Unix(days*86400, 0).UTC()
	months := int64(t.Year())*12 + int64(t.Month()) - 1 + step.months
	year, month := floorDiv(months, 12), time.Month(months-floorDiv(months, 12)*12+1)
	last := time.Date(int(year), month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	moved := time.Date(int(year), month, min(t.Day(), last), 0, 0, 0, 0, time.UTC).Unix()/86400 + step.days
	if moved > math.MaxInt32 || moved < math.MinInt32 {
		return Value{}, false
	}
	if _, ok := inDateRange(DateValue(int32(moved))); !ok {
		return Value{}, false
	}
	return TimestampValue(moved*microsPerDay + rest), true
}

// The years 0001 to 9999: further out the dialects' limits differ, and no data is expected there.
const firstDay, lastDay = -719162, 2932896

func inDateRange(v Value) (Value, bool) {
	return v, v.int >= firstDay && v.int <= lastDay
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// operator is the unqualified name of an operator, or "" for OPERATOR(schema.op).
func operator(e *pg.A_Expr) string {
	if len(e.Name) != 1 {
		return ""
	}
	return e.Name[0].GetString_().GetSval()
}

// ParseDate reads YYYY-MM-DD and nothing else as a DATE.
func ParseDate(s string) (Value, bool) { return dateFromText(s) }

// ParseTimestamp reads YYYY-MM-DD, optionally with HH:MM:SS and up to six digits of fraction, as a TIMESTAMP.
func ParseTimestamp(s string) (Value, bool) { return timestampFromText(s) }
