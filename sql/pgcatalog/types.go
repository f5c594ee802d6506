package pgcatalog

import "strings"

// duckTypes: the types of the system relations' columns; what is not here is VARCHAR.
var duckTypes = map[string]string{
	"bool": "BOOLEAN", "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "float4": "FLOAT", "float8": "DOUBLE",
	"oid": "UINTEGER", "regproc": "UINTEGER", "_regtype": "UINTEGER[]", "xid": "UINTEGER", "numeric": "DECIMAL(38,0)", "bytea": "BLOB",
	"timestamptz": "TIMESTAMPTZ", "time_stamp": "TIMESTAMPTZ", "interval": "INTERVAL", "cardinal_number": "INTEGER",
	"int2vector": "SMALLINT[]", "oidvector": "UINTEGER[]",
}

// duckType is the DuckDB type of a column whose PostgreSQL type has this name.
func duckType(name string) string {
	if t, ok := duckTypes[name]; ok {
		return t
	}
	if element, ok := strings.CutPrefix(name, "_"); ok {
		return duckType(element) + "[]"
	}
	return "VARCHAR"
}

// zero is what stands in a column that PostgreSQL declares NOT NULL and that has no value of its own here.
func zero(name string) string {
	switch t := duckType(name); {
	case strings.HasSuffix(t, "[]"):
		return "[]"
	case t == "BOOLEAN":
		return "false"
	case t == "VARCHAR":
		return "''"
	case t == "BLOB":
		return "''"
	case t == "TIMESTAMPTZ":
		return "'1970-01-01 00:00:00+00'"
	case t == "INTERVAL":
		return "INTERVAL '0 days'"
	default:
		return "0"
	}
}

// castTypes: what a cast to one of PostgreSQL's own types becomes in a catalog query.
var castTypes = map[string]string{
	"text": "text", "name": "text", "char": "text", "cstring": "text", "varchar": "text", "unknown": "text", "aclitem": "text", "pg_node_tree": "text",
	"sql_identifier": "text", "character_data": "text", "yes_or_no": "text", "inet": "text", "xml": "text",
	"oid": "uinteger", "xid": "uinteger", "cid": "uinteger", "int2vector": "smallint", "oidvector": "uinteger", "cardinal_number": "integer", "time_stamp": "timestamptz",
	"jsonb": "json",
}

// lookupTypes: the reg… types, whose values are object IDs that show as names; the prefix of their functions.
var lookupTypes = map[string]string{
	"regclass": "relation", "regtype": "type", "regnamespace": "namespace", "regproc": "function", "regprocedure": "function", "regrole": "role",
}

// NamesObjects reports whether values of a type show as names, which are looked up.
func NamesObjects(typeName string) bool { return lookupTypes[typeName] != "" }
