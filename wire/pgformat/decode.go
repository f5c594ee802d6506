package pgformat

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Decode reads a parameter that a client sent: see wire.Value for what it returns. Texts of dates, times and timestamps
// that are not ISO ("tomorrow", "Jan 5 2024") and texts of intervals come back as string, for the database to
// interpret. bytes is not kept. Errors have SQLSTATEs of class 22, or 0A000.
func Decode(oid uint32, format Format, bytes []byte, zone *time.Location) (any, error) {
	if element, ok := ElementOID(oid); ok {
		if format == BinaryFormat {
			return decodeArrayBinary(bytes, zone)
		}
		return decodeArrayText(element, string(bytes), zone)
	}
	if format == BinaryFormat {
		return decodeBinary(oid, bytes)
	}
	text := string(bytes)
	if err := CheckText(text); err != nil {
		return nil, err
	}
	return decodeText(oid, text, zone)
}

// CheckText refuses what cannot be text: bytes that are not UTF-8, and zero bytes.
func CheckText(text string) error {
	at := strings.IndexByte(text, 0)
	if at < 0 {
		if utf8.ValidString(text) {
			return nil
		}
		for i, r := range text {
			if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size <= 1 {
				at = i
				break
			}
		}
	}
	return &ValueError{
		State:   "22021",
		Message: fmt.Sprintf("invalid byte sequence for encoding \"UTF8\": 0x%02x", text[at]),
		Help:    "Send text in UTF-8, and binary data as bytea.",
	}
}

func invalidText(kind, text string) error {
	return &ValueError{State: "22P02", Message: fmt.Sprintf("invalid input syntax for type %s: %q", kind, shorten(text))}
}

func outOfRange(kind, text string) error {
	return &ValueError{State: "22003", Message: fmt.Sprintf("value %q is out of range for type %s", shorten(text), kind)}
}

// shorten keeps error messages readable.
func shorten(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func decodeText(oid uint32, text string, zone *time.Location) (any, error) {
	trimmed := strings.Trim(text, " \t\n\r\v\f")
	switch oid {
	case Bool:
		return parseBool(trimmed)
	case Int2:
		return parseInt(trimmed, "smallint", 16)
	case Int4:
		return parseInt(trimmed, "integer", 32)
	case Int8:
		return parseInt(trimmed, "bigint", 64)
	case OID, XID:
		number, err := strconv.ParseUint(trimmed, 10, 32)
		if err != nil {
			return nil, invalidText("oid", text)
		}
		return int64(number), nil
	case Float4:
		return parseFloat(trimmed, "real", 32)
	case Float8:
		return parseFloat(trimmed, "double precision", 64)
	case NumericOID:
		return parseNumeric(trimmed)
	case Bytea:
		return parseBytea(text)
	case UUIDOID:
		return parseUUID(trimmed)
	}
	if value, ok := parseTemporal(oid, trimmed, zone); ok {
		return value, nil
	}
	return text, nil
}

// parseBool accepts PostgreSQL's words and their unique beginnings.
func parseBool(text string) (any, error) {
	lower := strings.ToLower(text)
	for _, word := range []string{"true", "yes", "on", "1"} {
		if lower != "" && strings.HasPrefix(word, lower) && lower != "o" {
			return true, nil
		}
	}
	for _, word := range []string{"false", "no", "off", "0"} {
		if lower != "" && strings.HasPrefix(word, lower) && lower != "o" {
			return false, nil
		}
	}
	return nil, invalidText("boolean", text)
}

func parseInt(text, kind string, bits int) (any, error) {
	number, err := strconv.ParseInt(text, 10, bits)
	if err == nil {
		return number, nil
	}
	if digits := strings.TrimLeft(text, "+-"); digits != "" && strings.Trim(digits, "0123456789") == "" && len(text)-len(digits) <= 1 {
		return nil, outOfRange(kind, text)
	}
	return nil, invalidText(kind, text)
}

func parseFloat(text, kind string, bits int) (any, error) {
	if strings.ContainsAny(text, "xX_pP") { // Go's notations, not PostgreSQL's
		return nil, invalidText(kind, text)
	}
	number, err := strconv.ParseFloat(text, bits)
	switch {
	case err == nil:
		return number, nil
	case math.IsInf(number, 0):
		return nil, outOfRange(kind, text)
	}
	return nil, invalidText(kind, text)
}

// numericDigitsMax bounds what an exponent may expand to: PostgreSQL's limits are 131,072 digits before the point and
// 16,383 after it.
const numericDigitsMax = 131_072 + 16_383

// parseNumeric checks the syntax and writes exponents out.
func parseNumeric(text string) (any, error) {
	switch strings.ToLower(strings.TrimPrefix(text, "+")) {
	case "nan":
		return Numeric("NaN"), nil
	case "inf", "infinity":
		return Numeric("Infinity"), nil
	case "-inf", "-infinity":
		return Numeric("-Infinity"), nil
	}
	number := strings.ToLower(text)
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign = "-"
	}
	number = strings.TrimPrefix(strings.TrimPrefix(number, sign), "+")
	if sign == "-" && strings.HasPrefix(text[1:], "+") {
		return nil, invalidText("numeric", text)
	}
	mantissa, exponent, hasExponent := strings.Cut(number, "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	shift := 0
	if hasExponent {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil {
			return nil, invalidText("numeric", text)
		}
	}
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return nil, invalidText("numeric", text)
	}
	if len(mantissa) > numericDigitsMax || shift > numericDigitsMax || shift < -numericDigitsMax {
		return nil, outOfRange("numeric", text)
	}
	return Numeric(sign + movePoint(whole, fraction, shift)), nil
}

// movePoint writes whole.fraction × 10^shift without an exponent.
func movePoint(whole, fraction string, shift int) string {
	switch {
	case shift > 0 && len(fraction) < shift:
		whole, fraction = whole+fraction+strings.Repeat("0", shift-len(fraction)), ""
	case shift > 0:
		whole, fraction = whole+fraction[:shift], fraction[shift:]
	case shift < 0:
		if missing := -shift - len(whole); missing > 0 {
			whole = strings.Repeat("0", missing) + whole
		}
		split := len(whole) + shift
		whole, fraction = whole[:split], whole[split:]+fraction
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// parseBytea reads hex ("\x0aff") and the older escape format ("a\\b\001").
func parseBytea(text string) (any, error) {
	if digits, ok := strings.CutPrefix(text, `\x`); ok {
		bytes, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		if err != nil {
			return nil, invalidText("bytea", text)
		}
		return bytes, nil
	}
	bytes := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			bytes = append(bytes, text[i])
			continue
		}
		if strings.HasPrefix(text[i:], `\\`) {
			bytes = append(bytes, '\\')
			i++
			continue
		}
		if i+4 > len(text) {
			return nil, invalidText("bytea", text)
		}
		value, err := strconv.ParseUint(text[i+1:i+4], 8, 8)
		if err != nil {
			return nil, invalidText("bytea", text)
		}
		bytes = append(bytes, byte(value))
		i += 3
	}
	return bytes, nil
}

// parseUUID reads 32 hex digits with any dashes and optional braces.
func parseUUID(text string) (id UUID, err error) {
	bare := strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
	digits := strings.ReplaceAll(bare, "-", "")
	if n, err := hex.Decode(id[:], []byte(digits[:min(len(digits), 32)])); err != nil || n != 16 || len(digits) != 32 {
		return UUID{}, invalidText("uuid", text)
	}
	return id, nil
}

func invalidBinary(kind string, bytes []byte) error {
	return &ValueError{State: "22P03", Message: fmt.Sprintf("incorrect binary data format: %d bytes for type %s", len(bytes), kind)}
}

// decodeBinary reads the binary form of every type but arrays.
func decodeBinary(oid uint32, bytes []byte) (any, error) {
	if size := Size(oid); size > 0 && oid != Name && !isUsers(oid) && len(bytes) != int(size) {
		return nil, invalidBinary(strconv.Itoa(int(oid)), bytes)
	}
	switch oid {
	case Bool:
		return bytes[0] != 0, nil
	case Int2:
		return int64(int16(binary.BigEndian.Uint16(bytes))), nil
	case Int4:
		return int64(int32(binary.BigEndian.Uint32(bytes))), nil
	case Int8:
		return int64(binary.BigEndian.Uint64(bytes)), nil
	case OID, XID, Regproc, Regclass, Regtype:
		return int64(binary.BigEndian.Uint32(bytes)), nil
	case Float4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(bytes))), nil
	case Float8:
		return math.Float64frombits(binary.BigEndian.Uint64(bytes)), nil
	case NumericOID:
		return decodeNumericBinary(bytes)
	case Bytea:
		return append([]byte{}, bytes...), nil
	case UUIDOID:
		return UUID(bytes), nil
	case DateOID:
		return dateFrom2000(int32(binary.BigEndian.Uint32(bytes))), nil
	case Time:
		return TimeOfDay(binary.BigEndian.Uint64(bytes)), nil
	case TimestampNT, TimestampTZ:
		return timestampFrom2000(int64(binary.BigEndian.Uint64(bytes)))
	case IntervalOID:
		return Interval{
			Microseconds: int64(binary.BigEndian.Uint64(bytes)),
			Days:         int32(binary.BigEndian.Uint32(bytes[8:])),
			Months:       int32(binary.BigEndian.Uint32(bytes[12:])),
		}, nil
	case TimeTZ:
		clock := appendClock(nil, int64(binary.BigEndian.Uint64(bytes))%(microsPerDay+1))
		return string(appendOffset(clock, -int(int32(binary.BigEndian.Uint32(bytes[8:])))%(24*3600))), nil
	case JSONB:
		if len(bytes) == 0 || bytes[0] != 1 {
			return nil, invalidBinary("jsonb", bytes)
		}
		bytes = bytes[1:]
	}
	if oid != JSONB && oid != 0 && !isTextLike(oid) {
		return nil, &ValueError{
			State:   "0A000",
			Message: fmt.Sprintf("parameters of type %d are not supported in binary format", oid),
			Help:    "Send the parameter in text format.",
		}
	}
	return string(bytes), CheckText(string(bytes))
}

func dateFrom2000(days int32) Date {
	switch {
	case days == math.MaxInt32 || days > math.MaxInt32-daysTo2000-1:
		return DateInfinity
	case days == math.MinInt32:
		return DateNegativeInfinity
	}
	return Date(days + daysTo2000)
}

func timestampFrom2000(micros int64) (any, error) {
	switch {
	case micros == math.MaxInt64:
		return TimestampInfinity, nil
	case micros == math.MinInt64:
		return TimestampNegativeInfinity, nil
	case micros > math.MaxInt64-microsTo2000-1:
		return nil, errTimeRange
	}
	return Timestamp(micros + microsTo2000), nil
}

// decodeNumericBinary is the inverse of appendNumericBinary.
func decodeNumericBinary(bytes []byte) (any, error) {
	if len(bytes) < 8 {
		return nil, invalidBinary("numeric", bytes)
	}
	count := int(binary.BigEndian.Uint16(bytes))
	weight := int(int16(binary.BigEndian.Uint16(bytes[2:])))
	sign, scale := binary.BigEndian.Uint16(bytes[4:]), int(binary.BigEndian.Uint16(bytes[6:]))
	switch sign {
	case 0xC000:
		return Numeric("NaN"), nil
	case 0xD000:
		return Numeric("Infinity"), nil
	case 0xF000:
		return Numeric("-Infinity"), nil
	case 0, 0x4000:
	default:
		return nil, invalidBinary("numeric", bytes)
	}
	const scaleMax = 0x3FFF
	if len(bytes) != 8+2*count || scale > scaleMax {
		return nil, invalidBinary("numeric", bytes)
	}
	var whole, fraction []byte
	for group := min(0, weight+1); group < weight+1; group++ {
		whole = appendGroup(whole, bytes[8:], group)
	}
	for group := weight + 1; len(fraction) < scale; group++ {
		fraction = appendGroup(fraction, bytes[8:], group)
	}
	for i := 0; i < count; i++ {
		if binary.BigEndian.Uint16(bytes[8+2*i:]) > 9999 {
			return nil, invalidBinary("numeric", bytes)
		}
	}
	text := movePoint(string(whole), string(fraction[:scale]), 0)
	if sign == 0x4000 {
		text = "-" + text
	}
	return Numeric(text), nil
}

// appendGroup appends the four digits of a base-10,000 digit; those outside of the array are zero.
func appendGroup(dst, groups []byte, group int) []byte {
	value := uint16(0)
	if group >= 0 && group < len(groups)/2 {
		value = binary.BigEndian.Uint16(groups[2*group:])
	}
	return appendDigits(dst, uint64(value), 4)
}
