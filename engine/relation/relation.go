package relation

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/comment"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/former"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/typing"
)

// OfTable is how a table is shown.
func OfTable(t *catalog.TableVersion) pgcatalog.Relation {
	table := t.Table()
	r := pgcatalog.Relation{
		Schema: table.Name.Schema, Name: table.Name.Name, Kind: 'r', OID: objectID(table.ID),
		Columns: columnsOf(table.Columns), Rows: t.Rows(), Bytes: t.Bytes(), Options: former.Shown(table.Retention),
	}
	if d, is := materialized.Of(table); is {
		r.Kind, r.Definition, r.Unpopulated = 'm', definition(materialized.Calls(&catalog.View{SQL: d.Query, Columns: table.Columns})), !d.Populated
	}
	return r
}

// definition is how the query of a view is shown.
func definition(query string) string { return " " + past.Shown(query) + ";" }

// Constraints are a table's constraints as PostgreSQL's catalogs show them. What cannot be read is not shown; a write
// reports it.
func Constraints(contents *catalog.Contents, table catalog.Table) (shown []pgcatalog.Constraint) {
	list, err := constraint.Of(table.Columns)
	if err != nil {
		return nil
	}
	action := map[string]byte{"": 'a', "RESTRICT": 'r', "CASCADE": 'c', "SET NULL": 'n', "SET DEFAULT": 'd'}
	for _, k := range list {
		if k.IsIndex() || k.Domain != 0 {
			continue
		}
		c := pgcatalog.Constraint{
			Name: k.Name, FirstName: k.FirstName(), Kind: k.Kind[0], Columns: columnNumbers(table.Columns, k.Columns),
			Deferrable: k.Deferrable, Deferred: k.Deferred, Validated: k.Enforced(),
			NoInherit: k.NoInherit, NullsNotDistinct: k.NullsNotDistinct,
			Expression: calling.Shown(k.Expression), Comment: k.Comment,
		}
		referenced := ""
		if k.Kind == constraint.ForeignKey {
			to := table
			if k.References != 0 {
				version, ok := contents.TableOf(catalog.TableID(k.References), catalog.TableName{})
				if !ok {
					continue
				}
				to = version.Table()
			}
			referenced = dialect.PlainIdentifier(to.Name.Name)
			if to.Name.Schema != duckdb.SchemaName {
				referenced = dialect.PlainIdentifier(to.Name.Schema) + "." + referenced
			}
			c.References, c.ReferenceColumns = objectID(to.ID), columnNumbers(to.Columns, k.ReferencedColumns)
			c.OnUpdate, c.OnDelete, c.Match = action[k.OnUpdate], action[k.OnDelete], 's'
			if k.Match != "" {
				c.Match = strings.ToLower(k.Match)[0]
			}
		}
		c.Definition = k.Definition(referenced, dialect.PlainIdentifier)
		shown = append(shown, c)
	}
	return shown
}

func columnNumbers(schema *arrow.Schema, names []string) (list []int) {
	for _, n := range names {
		if at := ingest.Index(schema, n); at >= 0 {
			list = append(list, at+1)
		}
	}
	return list
}

// OfView is how a view is shown.
func OfView(w *catalog.View) pgcatalog.Relation {
	return pgcatalog.Relation{
		Schema: w.Name.Schema, Name: w.Name.Name, Kind: 'v', OID: objectID(w.ID),
		Columns: columnsOf(w.Columns), Definition: definition(materialized.Calls(w)),
	}
}

// Called finds a table by a name without a schema, and all other names as others does.
func Called(name string, table *catalog.TableVersion, others typing.Find) typing.Find {
	return func(database, schema, asked string) *pgcatalog.Relation {
		if asked != name || schema != "" {
			return others(database, schema, asked)
		}
		r := OfTable(table)
		return &r
	}
}

func objectID(id catalog.TableID) uint32 { return pgcatalog.ObjectID(uint64(id)) }

func columnsOf(schema *arrow.Schema) []pgcatalog.Column {
	if schema == nil {
		return nil
	}
	columns := make([]pgcatalog.Column, schema.NumFields())
	for i, f := range schema.Fields() {
		oid, modifier := Type(f)
		text, _ := f.Metadata.GetValue(cast.DefaultKey)
		columns[i] = pgcatalog.Column{
			Name: f.Name, Type: oid, Typmod: modifier, NotNull: !f.Nullable, Default: calling.Shown(text),
			Comment: comment.OfField(f),
		}
		if expression := cast.Generated(f); expression != "" {
			columns[i].Generated, columns[i].Default = true, calling.Shown(expression)
		}
		if mark := cast.Identity(f); mark != "" {
			columns[i].Identity, columns[i].Default = mark[0], ""
		}
	}
	return columns
}

// Object IDs of PostgreSQL's types (pg_type.dat).
const (
	OIDBool, OIDBytea, OIDInt8, OIDInt2, OIDInt4, OIDText, OIDJSON       = 16, 17, 20, 21, 23, 25, 114
	OIDFloat4, OIDFloat8, OIDDate, OIDTime, OIDTimestamp, OIDTimestampTZ = 700, 701, 1082, 1083, 1114, 1184
	OIDInterval, OIDNumeric, OIDUUID, OIDTimeTZ, OIDVarbit               = 1186, 1700, 2950, 1266, 1562
)

var postgresTypeOf = map[arrow.Type]uint32{
	arrow.BOOL: OIDBool, arrow.INT8: OIDInt2, arrow.INT16: OIDInt2, arrow.INT32: OIDInt4, arrow.INT64: OIDInt8,
	arrow.UINT8: OIDInt2, arrow.UINT16: OIDInt4, arrow.UINT32: OIDInt8, arrow.UINT64: OIDNumeric,
	arrow.FLOAT16: OIDFloat4, arrow.FLOAT32: OIDFloat4, arrow.FLOAT64: OIDFloat8,
	arrow.BINARY: OIDBytea, arrow.LARGE_BINARY: OIDBytea, arrow.BINARY_VIEW: OIDBytea,
	arrow.DATE32: OIDDate, arrow.TIME32: OIDTime, arrow.TIME64: OIDTime, arrow.INTERVAL_MONTH_DAY_NANO: OIDInterval,
}

// postgresArrays are the array types of element types.
var postgresArrays = map[uint32]uint32{
	OIDBool: 1000, OIDBytea: 1001, OIDInt2: 1005, OIDInt4: 1007, OIDText: 1009, OIDInt8: 1016, OIDFloat4: 1021, OIDFloat8: 1022,
	OIDTimestamp: 1115, OIDDate: 1182, OIDTime: 1183, OIDTimestampTZ: 1185, OIDInterval: 1187, OIDNumeric: 1231, OIDUUID: 2951, OIDJSON: 199,
	OIDTimeTZ: 1270, OIDVarbit: 1563,
}

// Opaque reports of a result's columns, by where they come from, whether they are a table's whose type results show as
// another one. A view's column is none: it may be a sum.
func Opaque(contents *catalog.Contents, origins []typing.Origin) func(column int) bool {
	return func(column int) bool {
		if column >= len(origins) || origins[column].Table < pgcatalog.FirstOID {
			return false
		}
		o := origins[column]
		version, ok := contents.TableOf(catalog.TableID(o.Table-pgcatalog.FirstOID), catalog.TableName{})
		return ok && normal.IsOpaque(version.Table().Columns.Field(int(o.Column)-1))
	}
}

// opaqueTypes are those of DuckDB's types that Arrow lacks.
var opaqueTypes = map[string]uint32{
	"hugeint": OIDNumeric, "uhugeint": OIDNumeric, "bignum": OIDNumeric, "time_tz": OIDTimeTZ, "bit": OIDVarbit,
}

// Type is the type that clients see, with its modifier.
func Type(f arrow.Field) (oid uint32, modifier int32) {
	if d, ok := columntype.Of(f); ok {
		return d.OID(), d.Modifier()
	}
	switch name, _ := f.Metadata.GetValue("ARROW:extension:name"); name {
	case "arrow.uuid":
		return OIDUUID, -1
	case "arrow.json":
		return OIDJSON, -1
	case "arrow.opaque":
		return opaqueTypes[normal.TypeName(f)], -1
	}
	if t := enumeration.Of(f); t != nil {
		return pgcatalog.ObjectID(t.Number()), -1
	}
	switch t := f.Type.(type) {
	case arrow.DecimalType:
		return OIDNumeric, t.GetPrecision()<<16 | t.GetScale() + 4
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return OIDTimestampTZ, -1
		}
		switch t.Unit {
		case arrow.Second:
			return OIDTimestamp, 0
		case arrow.Millisecond:
			return OIDTimestamp, 3
		}
		return OIDTimestamp, -1
	case arrow.ListLikeType:
		if _, isMap := t.(*arrow.MapType); isMap {
			return OIDText, -1
		}
		if of := enumeration.Of(t.ElemField()); of != nil {
			return pgcatalog.ArrayOID(pgcatalog.ObjectID(of.Number())), -1
		}
		element, modifier := Type(t.ElemField())
		if array, ok := postgresArrays[element]; ok {
			return array, modifier
		}
		return OIDText, -1
	}
	if oid, ok := postgresTypeOf[f.Type.ID()]; ok {
		return oid, -1
	}
	return OIDText, -1
}
