package frontend

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/engine/statement"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// typeNames are the types that a parameter may be cast to, by PostgreSQL's and DuckDB's names.
var typeNames = map[string]uint32{
	"bool": pgformat.Bool, "boolean": pgformat.Bool,
	"int1": pgformat.Int2, "tinyint": pgformat.Int2, "int2": pgformat.Int2, "smallint": pgformat.Int2,
	"int": pgformat.Int4, "int4": pgformat.Int4, "integer": pgformat.Int4, "int8": pgformat.Int8, "bigint": pgformat.Int8,
	"float4": pgformat.Float4, "real": pgformat.Float4, "float8": pgformat.Float8, "double": pgformat.Float8,
	"numeric": pgformat.NumericOID, "decimal": pgformat.NumericOID, "hugeint": pgformat.NumericOID,
	"text": pgformat.Text, "varchar": pgformat.Varchar, "bpchar": pgformat.BPChar, "string": pgformat.Text,
	"bytea": pgformat.Bytea, "blob": pgformat.Bytea, "uuid": pgformat.UUIDOID, "json": pgformat.JSON, "jsonb": pgformat.JSONB,
	"date": pgformat.DateOID, "time": pgformat.Time, "timestamp": pgformat.TimestampNT, "datetime": pgformat.TimestampNT,
	"timestamptz": pgformat.TimestampTZ, "interval": pgformat.IntervalOID,
}

// inferred gives parameters that are still open the type that PostgreSQL would: that of the cast they stand in, or of the number
// beside them. The engine's planner, DuckDB, looks at neither.
func inferred(sql string, parameters []uint32) []uint32 {
	open := false
	for _, oid := range parameters {
		open = open || oid == 0
	}
	if !open {
		return parameters
	}
	parsed, err := statement.Parse(sql)
	if err != nil || parsed.Tree == nil {
		return parameters
	}
	found := map[int32]uint32{}
	findTypes(parsed.Tree.ProtoReflect(), found)
	for i, oid := range parameters {
		if oid == 0 {
			parameters[i] = found[int32(i+1)]
		}
	}
	return parameters
}

// findTypes walks a parse tree; the first place that gives a parameter a type decides.
func findTypes(m protoreflect.Message, found map[int32]uint32) {
	note := func(p *pg.ParamRef, oid uint32) {
		if _, known := found[p.GetNumber()]; p != nil && oid != 0 && !known {
			found[p.Number] = oid
		}
	}
	switch node := m.Interface().(type) {
	case *pg.TypeCast:
		note(node.Arg.GetParamRef(), castType(node.TypeName))
	case *pg.A_Expr:
		note(node.Lexpr.GetParamRef(), constantType(node.Rexpr))
		note(node.Rexpr.GetParamRef(), constantType(node.Lexpr))
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsList() && field.Message() != nil:
			for i := range value.List().Len() {
				findTypes(value.List().Get(i).Message(), found)
			}
		case field.Message() != nil:
			findTypes(value.Message(), found)
		}
		return true
	})
}

// castType is the OID of a type's name, 0 if it is none that clients know.
func castType(name *pg.TypeName) uint32 {
	names := name.GetNames()
	if len(names) == 0 {
		return 0
	}
	oid := typeNames[strings.ToLower(names[len(names)-1].GetString_().GetSval())]
	if len(name.ArrayBounds) == 0 || oid == 0 {
		return oid
	}
	array, _ := pgformat.ArrayOID(oid)
	return array
}

// constantType is the type of a number; texts and everything else say nothing.
func constantType(n *pg.Node) uint32 {
	switch n.GetAConst().GetVal().(type) {
	case *pg.A_Const_Ival:
		return pgformat.Int8
	case *pg.A_Const_Fval:
		return pgformat.NumericOID
	}
	return 0
}
