package frontend

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/sql/typing"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// withOrigins returns schema with what wire describes of the tables of its columns. origins are those of
// engine.Statement.
func withOrigins(schema *arrow.Schema, origins []typing.Origin) *arrow.Schema {
	if schema == nil || len(origins) != schema.NumFields() {
		return schema
	}
	fields := schema.Fields() // a copy
	for i, from := range origins {
		if from == (typing.Origin{}) {
			continue
		}
		text := from.Type == pgformat.Varchar || from.Type == pgformat.BPChar
		if text && holdsText(fields[i]) || from.Type == pgformat.TimestampNT && from.Typmod >= 0 ||
			from.Type == pgformat.Int8 && from.Table == 0 && holdsHuge(fields[i]) {
			fields[i].Metadata = arrow.NewMetadata(append(fields[i].Metadata.Keys(), pgformat.MetadataOID, pgformat.MetadataTypmod),
				append(fields[i].Metadata.Values(), strconv.FormatUint(uint64(from.Type), 10), strconv.Itoa(int(from.Typmod))))
		}
		if from.Table == 0 {
			continue
		}
		keys := append(fields[i].Metadata.Keys(), pgformat.MetadataTableOID, pgformat.MetadataTableColumn)
		values := append(fields[i].Metadata.Values(), strconv.FormatUint(uint64(from.Table), 10), strconv.FormatUint(uint64(from.Column), 10))
		fields[i].Metadata = arrow.NewMetadata(keys, values)
	}
	return arrow.NewSchema(fields, nil)
}

// holdsHuge reports whether a field has DuckDB's HUGEINT.
func holdsHuge(f arrow.Field) bool {
	t, ok := f.Type.(*arrow.Decimal128Type)
	return ok && t.Scale == 0
}

// holdsText reports whether a field has strings, and no others' marks.
func holdsText(f arrow.Field) bool {
	t := f.Type
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	_, marked := f.Metadata.GetValue("ARROW:extension:name")
	return !marked && (t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING || t.ID() == arrow.STRING_VIEW)
}
