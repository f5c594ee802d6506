package columntype

// refused are PostgreSQL's types that no column can have, with what to write instead. A test walks all of PostgreSQL's
// types.
var refused = map[string]string{
	"money": "Use numeric(19,2).", "name": "Use varchar(63).", "citext": "Use text, and compare with lower(…) or ILIKE.", "xml": "Use text.",
	"oid": "Use bigint.", "xid": "Use bigint.", "cid": "Use bigint.", "xid8": "Use ubigint.", "tid": "Use text.",
	"regclass": "Use text.", "regtype": "Use text.", "regproc": "Use text.", "regprocedure": "Use text.", "regoper": "Use text.",
	"regoperator": "Use text.", "regrole": "Use text.", "regnamespace": "Use text.", "regcollation": "Use text.", "regconfig": "Use text.",
	"regdictionary": "Use text.", "refcursor": "Use text.", "aclitem": "Use text.", "int2vector": "Use smallint[].", "oidvector": "Use bigint[].",
	"tsvector": "Use text.", "tsquery": "Use text.", "gtsvector": "Use text.", "jsonpath": "Use text.",
	"inet": "Use text.", "cidr": "Use text.", "macaddr": "Use text.", "macaddr8": "Use text.",
	"point": "Use double precision for each coordinate, or STRUCT (x DOUBLE, y DOUBLE).", "line": geometry, "lseg": geometry, "box": geometry, "path": geometry,
	"polygon": geometry, "circle": geometry, "geometry": geometry, "geography": geometry,
	"int4range": ranges, "int8range": ranges, "numrange": ranges, "tsrange": ranges, "tstzrange": ranges, "daterange": ranges,
	"int4multirange": ranges, "int8multirange": ranges, "nummultirange": ranges, "tsmultirange": ranges, "tstzmultirange": ranges, "datemultirange": ranges,
	"bit":    "It is one bit in PostgreSQL, and as many as there are in DuckDB: use bit varying, which is as many in both.",
	"pg_lsn": "Use text.", "txid_snapshot": "Use text.", "pg_snapshot": "Use text.", "pg_node_tree": "Use text.", "pg_ndistinct": "Use text.",
	"pg_dependencies": "Use text.", "pg_mcv_list": "Use text.", "pg_brin_bloom_summary": "Use text.", "pg_brin_minmax_multi_summary": "Use text.",
	"serial": serial, "serial4": serial, "serial2": serial, "serial8": serial, "smallserial": serial, "bigserial": serial,
	"hstore": "Use MAP (VARCHAR, VARCHAR).", "ltree": "Use text[].", "enum": "Use varchar with a CHECK of its values: c varchar CHECK (c IN ('a', 'b')).",
	"null": "Name a type.", "any": "Name a type.", "type": "Use text.", "variant": "Use json.",
}

// Reserved reports whether a name is that of a type of PostgreSQL's which no column can have, or of a word for columns.
func Reserved(name string) bool { return refused[name] != "" || pseudo[name] }

const (
	geometry = "Use double precision[] or text."
	ranges   = "Use two columns, for the lower and the upper bound."
	serial   = "It is a word for a column of CREATE TABLE or ADD COLUMN: name integer or bigint."
)

// pseudo are types that no column of PostgreSQL's has either.
var pseudo = map[string]bool{
	"record": true, "_record": true, "cstring": true, "_cstring": true, "anyarray": true, "void": true, "trigger": true, "event_trigger": true,
	"language_handler": true, "internal": true, "anyelement": true, "anynonarray": true, "anyenum": true, "fdw_handler": true, "index_am_handler": true,
	"tsm_handler": true, "table_am_handler": true, "anyrange": true, "anymultirange": true, "anycompatible": true, "anycompatiblearray": true,
	"anycompatiblenonarray": true, "anycompatiblerange": true, "anycompatiblemultirange": true, "pg_ddl_command": true, "unknown": true,
}
