package pgformat

import "github.com/csmsql/csmsql/internal/enumeration"

// OIDs of PostgreSQL's built-in types (pg_type.dat of PostgreSQL 15). They never change between versions.
const (
	Bool        uint32 = 16
	Bytea       uint32 = 17
	QChar       uint32 = 18
	Name        uint32 = 19
	Int8        uint32 = 20
	Int2        uint32 = 21
	Int4        uint32 = 23
	Regproc     uint32 = 24
	Text        uint32 = 25
	OID         uint32 = 26
	XID         uint32 = 28
	JSON        uint32 = 114
	Float4      uint32 = 700
	Float8      uint32 = 701
	Unknown     uint32 = 705
	BPChar      uint32 = 1042
	Varchar     uint32 = 1043
	DateOID     uint32 = 1082
	Time        uint32 = 1083
	TimestampNT uint32 = 1114
	TimestampTZ uint32 = 1184
	IntervalOID uint32 = 1186
	TimeTZ      uint32 = 1266
	NumericOID  uint32 = 1700
	Regclass    uint32 = 2205
	Regtype     uint32 = 2206
	Record      uint32 = 2249
	UUIDOID     uint32 = 2950
	JSONB       uint32 = 3802

	BoolArray        uint32 = 1000
	ByteaArray       uint32 = 1001
	QCharArray       uint32 = 1002
	NameArray        uint32 = 1003
	Int2Array        uint32 = 1005
	Int4Array        uint32 = 1007
	TextArray        uint32 = 1009
	BPCharArray      uint32 = 1014
	VarcharArray     uint32 = 1015
	Int8Array        uint32 = 1016
	Float4Array      uint32 = 1021
	Float8Array      uint32 = 1022
	OIDArray         uint32 = 1028
	TimestampArray   uint32 = 1115
	DateArray        uint32 = 1182
	TimeArray        uint32 = 1183
	TimestampTZArray uint32 = 1185
	IntervalArray    uint32 = 1187
	NumericArray     uint32 = 1231
	TimeTZArray      uint32 = 1270
	JSONArray        uint32 = 199
	UUIDArray        uint32 = 2951
	JSONBArray       uint32 = 3807
)

// elementOf maps an array type to its element type.
var elementOf = map[uint32]uint32{
	BoolArray: Bool, ByteaArray: Bytea, QCharArray: QChar, NameArray: Name, Int2Array: Int2, Int4Array: Int4,
	TextArray: Text, BPCharArray: BPChar, VarcharArray: Varchar, Int8Array: Int8, Float4Array: Float4, Float8Array: Float8,
	OIDArray: OID, TimestampArray: TimestampNT, DateArray: DateOID, TimeArray: Time, TimestampTZArray: TimestampTZ,
	IntervalArray: IntervalOID, NumericArray: NumericOID, TimeTZArray: TimeTZ, JSONArray: JSON, UUIDArray: UUIDOID,
	JSONBArray: JSONB,
}

// arrayOf is the inverse of elementOf.
var arrayOf = func() map[uint32]uint32 {
	inverse := make(map[uint32]uint32, len(elementOf))
	for array, element := range elementOf {
		inverse[element] = array
	}
	return inverse
}()

// ElementOID returns the element type of an array type.
func ElementOID(array uint32) (element uint32, ok bool) {
	if element, ok = elementOf[array]; !ok && array > enumeration.ArraysOID && isUsers(array-enumeration.ArraysOID) {
		return array - enumeration.ArraysOID, true
	}
	return element, ok
}

// isUsers reports whether a type is user-defined. Values of such types are labels: texts, in both formats.
func isUsers(oid uint32) bool { return oid >= enumeration.FirstOID && oid <= enumeration.LastOID }

// ArrayOID returns the array type of an element type.
func ArrayOID(element uint32) (array uint32, ok bool) {
	if isUsers(element) {
		return element + enumeration.ArraysOID, true
	}
	array, ok = arrayOf[element]
	return array, ok
}

// Size returns the size in bytes of a type's values as RowDescription shows it (pg_type.typlen), -1 when they vary.
func Size(oid uint32) int16 {
	if isUsers(oid) {
		return 4
	}
	switch oid {
	case Bool, QChar:
		return 1
	case Int2:
		return 2
	case Int4, Float4, DateOID, OID, XID, Regproc, Regclass, Regtype:
		return 4
	case Int8, Float8, Time, TimestampNT, TimestampTZ:
		return 8
	case TimeTZ:
		return 12
	case IntervalOID, UUIDOID:
		return 16
	case Name:
		return 64
	case Unknown:
		return -2
	}
	return -1
}
