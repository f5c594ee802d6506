package frontend

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/pgcatalog"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// extensionName is where the engine keeps an Arrow extension's name: in the field, not in its type.
const extensionName = "ARROW:extension:name"

// Shown is a result's schema with what only the engine's metadata says told to wire: that bytes are a UUID, that a text is
// JSON. nil stays nil.
func Shown(schema *arrow.Schema) *arrow.Schema {
	if schema == nil {
		return nil
	}
	var fields []arrow.Field
	for i := range schema.NumFields() {
		f := schema.Field(i)
		oid := extensionOID(f)
		if oid == 0 {
			continue
		}
		if fields == nil {
			fields = schema.Fields() // a copy
		}
		keys, values := append(f.Metadata.Keys(), pgformat.MetadataOID), append(f.Metadata.Values(), strconv.FormatUint(uint64(oid), 10))
		fields[i].Metadata = arrow.NewMetadata(keys, values)
	}
	if fields == nil {
		return schema
	}
	return arrow.NewSchema(fields, nil)
}

// withOrigins is schema with what wire tells of the tables that its columns are of. origins as engine.Statement gives them.
func withOrigins(schema *arrow.Schema, origins []pgcatalog.Origin) *arrow.Schema {
	if schema == nil || len(origins) != schema.NumFields() {
		return schema
	}
	fields := schema.Fields() // a copy
	for i, from := range origins {
		if from == (pgcatalog.Origin{}) {
			continue
		}
		if text := from.Type == pgformat.Varchar || from.Type == pgformat.BPChar; text && holdsText(fields[i]) || from.Type == pgformat.TimestampNT && from.Typmod >= 0 {
			fields[i].Metadata = arrow.NewMetadata(append(fields[i].Metadata.Keys(), pgformat.MetadataOID, pgformat.MetadataTypmod),
				append(fields[i].Metadata.Values(), strconv.FormatUint(uint64(from.Type), 10), strconv.Itoa(int(from.Typmod))))
		}
		keys := append(fields[i].Metadata.Keys(), pgformat.MetadataTableOID, pgformat.MetadataTableColumn)
		values := append(fields[i].Metadata.Values(), strconv.FormatUint(uint64(from.Table), 10), strconv.FormatUint(uint64(from.Column), 10))
		fields[i].Metadata = arrow.NewMetadata(keys, values)
	}
	return arrow.NewSchema(fields, nil)
}

// holdsText tells whether a field has strings, and no others' marks.
func holdsText(f arrow.Field) bool {
	t := f.Type
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	_, marked := f.Metadata.GetValue(extensionName)
	return !marked && (t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING || t.ID() == arrow.STRING_VIEW)
}

// extensionOID is the PostgreSQL type of an extension, or of a list of one; 0 for all else.
func extensionOID(f arrow.Field) uint32 {
	if list, ok := f.Type.(arrow.ListLikeType); ok && f.Type.ID() != arrow.MAP {
		array, _ := pgformat.ArrayOID(extensionOID(list.ElemField()))
		return array
	}
	switch name, _ := f.Metadata.GetValue(extensionName); name {
	case "arrow.uuid":
		return pgformat.UUIDOID
	case "arrow.json":
		return pgformat.JSON
	}
	return 0
}
