package pgcatalog

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/internal/enumeration"
)

// Relation is a table or view that users made.
type Relation struct {
	Schema, Name string
	// Kind is 'r' for a table, 'v' for a view, 'm' for a materialized one, 'S' for a sequence.
	Kind byte
	// OID is stable over the relation's life (P3), from FirstOID to LastOID.
	OID     uint32
	Columns []Column
	// Constraints of a table.
	Constraints []Constraint
	// Indexes are those of its keys, and others.
	Indexes []Index
	// Rows and Bytes of a table, as far as they are known.
	Rows, Bytes int64
	// Definition is a view's query, or that of a materialized view, which may be Unpopulated.
	Definition  string
	Unpopulated bool
	// Sequence is what a sequence is, nil of others.
	Sequence *Sequence
	Comment  string
	// Options are those of a table's storage, as name=value.
	Options []string
}

// Sequence is what pg_sequence says of one.
type Sequence struct {
	Number                            int64  // by which csm_sequence knows it
	Type                              uint32 // as in Column
	Start, Increment, Min, Max, Cache int64
	Cycle                             bool
	Owner                             uint32 // the OID of the table that owns it, 0: none
	Column                            int    // likewise the number of the column
	Identity                          bool   // it is a part of the column
}

// Column of a Relation.
type Column struct {
	Name string
	// Type is the OID of a type of PostgreSQL's, Typmod its modifier, -1 without one.
	Type    uint32
	Typmod  int32
	NotNull bool
	// Default is the expression's text, empty without one.
	Default string
	// Identity is pg_attribute.attidentity, 0: it is none.
	Identity byte
	// Generated: Default is the expression of a generated column.
	Generated bool
	Comment   string
}

// Schema of the users' database. OID may be 0: then it is derived from the name (P3).
type Schema struct {
	Name    string
	OID     uint32
	Comment string
}

// Object IDs that users' relations may have. The ranges above hold their schemas, row types and array types.
const (
	FirstOID = enumeration.FirstOID
	LastOID  = enumeration.LastOID
)

const publicOID = 2200

// ObjectID is enumeration.ObjectID, of relations, too.
func ObjectID(number uint64) uint32 { return enumeration.ObjectID(number) }

// ArrayOID is the object ID of the array type of a relation's row type, or of a user-defined type.
func ArrayOID(oid uint32) uint32 { return oid + enumeration.ArraysOID }

// schemaOID is the schema's object ID: PostgreSQL's for public, otherwise one that depends on the name alone.
func schemaOID(s Schema) uint32 {
	switch {
	case s.OID != 0:
		return s.OID
	case s.Name == "public":
		return publicOID
	}
	h := fnv.New32a()
	h.Write([]byte(s.Name))
	return 1<<30 | h.Sum32()>>2
}

// Refresh gives the connection that exec belongs to the list of all existing objects. It is cheap enough to be called
// whenever a catalog query comes and the catalog's revision has changed since (P4). The system's own schemas need not
// be listed.
func Refresh(exec func(sql string) error, relations []Relation, types []Type, schemas []Schema,
	databaseName string) error {
	oids := map[string]uint32{}
	for _, s := range schemas {
		oids[s.Name] = schemaOID(s)
	}
	for i := range relations {
		r := &relations[i]
		if r.OID < FirstOID || r.OID > LastOID {
			return fmt.Errorf("%s.%s has object ID %d, which is outside of %d to %d", r.Schema, r.Name, r.OID, FirstOID, LastOID)
		}
		if _, ok := oids[r.Schema]; !ok {
			oids[r.Schema] = schemaOID(Schema{Name: r.Schema})
		}
	}
	classes, err := operatorClasses()
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("SET VARIABLE csm_database = " + quoteLiteral(databaseName) + ";\n")
	schemaRows(oids).write(&b, "csm_schema")
	relationRows(relations, oids).write(&b, "csm_relation")
	columnRows(relations).write(&b, "csm_column")
	constraintRows(relations, types, oids).write(&b, "csm_constraint")
	indexes, indexColumns := indexRows(relations, oids, classes)
	indexes.write(&b, "csm_index")
	indexColumns.write(&b, "csm_index_column")
	sequenceRows(relations).write(&b, "csm_sequences")
	typeRows(types, oids).write(&b, "csm_type")
	functions, parameters := functionRows(types, oids)
	functions.write(&b, "csm_function")
	parameters.write(&b, "csm_parameter")
	labelRows(types).write(&b, "csm_label")
	commentRows(relations, types, schemas, oids).write(&b, "csm_comment")
	if err := exec(b.String()); err != nil {
		return fmt.Errorf("refresh the system catalogs: %w", err)
	}
	return nil
}

// rowSet is the rows of a temporary table.
type rowSet []columnSource

func (r rowSet) add(values ...*string) {
	for i := range r {
		r[i].values = append(r[i].values, values[i])
	}
}

// write replaces the temporary table.
func (r rowSet) write(b *strings.Builder, name string) {
	b.WriteString("CREATE OR REPLACE TEMP TABLE " + name + " AS ")
	if len(r[0].values) > 0 {
		b.WriteString(rowsQuery(r) + ";\n")
		return
	}
	none := make([]*string, len(r))
	r.add(none...)
	b.WriteString(rowsQuery(r) + " WHERE false;\n")
}

func text(v string) *string { return &v }

func optional(v string) *string {
	if v == "" {
		return nil
	}
	return &v
}

func number[N ~int | ~int32 | ~int64 | ~uint32](v N) *string {
	return text(strconv.FormatInt(int64(v), 10))
}

func boolean(v bool) *string { return text(strconv.FormatBool(v)) }

func schemaRows(oids map[string]uint32) rowSet {
	rows := rowSet{{name: "oid", duckType: "UINTEGER"}, {name: "name", duckType: "VARCHAR"}}
	names := make([]string, 0, len(oids))
	for name := range oids {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		rows.add(number(oids[name]), text(name))
	}
	return rows
}

func relationRows(relations []Relation, oids map[string]uint32) rowSet {
	rows := rowSet{
		{name: "oid", duckType: "UINTEGER"}, {name: "schema", duckType: "VARCHAR"}, {name: "schema_oid", duckType: "UINTEGER"}, {name: "name", duckType: "VARCHAR"},
		{name: "kind", duckType: "VARCHAR"}, {name: "columns", duckType: "SMALLINT"}, {name: "rows", duckType: "BIGINT"}, {name: "bytes", duckType: "BIGINT"},
		{name: "definition", duckType: "VARCHAR"}, {name: "options", duckType: "VARCHAR[]"}, {name: "populated", duckType: "BOOLEAN"},
	}
	for i := range relations {
		r := &relations[i]
		rows.add(number(r.OID), text(r.Schema), number(oids[r.Schema]), text(r.Name), text(string(r.Kind)),
			number(min(len(r.Columns), 32767)), number(r.Rows), number(r.Bytes), optional(r.Definition), options(r.Options), boolean(!r.Unpopulated))
	}
	return rows
}

func columnRows(relations []Relation) rowSet {
	rows := rowSet{
		{name: "relation", duckType: "UINTEGER"}, {name: "number", duckType: "SMALLINT"}, {name: "name", duckType: "VARCHAR"}, {name: "type", duckType: "UINTEGER"},
		{name: "typmod", duckType: "INTEGER"}, {name: "not_null", duckType: "BOOLEAN"}, {name: "default", duckType: "VARCHAR"},
		{name: "identity", duckType: "VARCHAR"}, {name: "generated", duckType: "VARCHAR"},
	}
	for i := range relations {
		r := &relations[i]
		for n, c := range r.Columns[:min(len(r.Columns), 32767)] {
			rows.add(number(r.OID), number(n+1), text(c.Name), number(c.Type), number(c.Typmod), boolean(c.NotNull), optional(c.Default), mark(c.Identity),
				text(map[bool]string{true: "s", false: ""}[c.Generated]))
		}
	}
	return rows
}

// mark is a letter, empty for none.
func mark(b byte) *string {
	if b == 0 {
		return text("")
	}
	return text(string(b))
}

func sequenceRows(relations []Relation) rowSet {
	rows := rowSet{
		{name: "oid", duckType: "UINTEGER"}, {name: "number", duckType: "BIGINT"}, {name: "type", duckType: "UINTEGER"},
		{name: "start", duckType: "BIGINT"}, {name: "increment", duckType: "BIGINT"}, {name: "min", duckType: "BIGINT"},
		{name: "max", duckType: "BIGINT"}, {name: "cache", duckType: "BIGINT"}, {name: "cycle", duckType: "BOOLEAN"},
		{name: "owner", duckType: "UINTEGER"}, {name: "column", duckType: "INTEGER"},
		{name: "identity", duckType: "BOOLEAN"},
	}
	for i := range relations {
		r := &relations[i]
		if s := r.Sequence; s != nil {
			rows.add(number(r.OID), number(s.Number), number(s.Type), number(s.Start), number(s.Increment),
				number(s.Min), number(s.Max), number(s.Cache), boolean(s.Cycle), number(s.Owner),
				number(s.Column), boolean(s.Identity))
		}
	}
	return rows
}

// Classes of pg_description.
const (
	classRelation, classSchema, classConstraint, classType, classFunction = 1259, 2615, 2606, 1247, 1255
)

func commentRows(relations []Relation, types []Type, schemas []Schema, oids map[string]uint32) rowSet {
	rows := rowSet{
		{name: "object", duckType: "UINTEGER"}, {name: "class", duckType: "UINTEGER"},
		{name: "part", duckType: "INTEGER"}, {name: "comment", duckType: "VARCHAR"},
	}
	add := func(object uint32, class, part int, comment string) {
		if comment != "" {
			rows.add(number(object), number(class), number(part), text(comment))
		}
	}
	for _, s := range schemas {
		add(oids[s.Name], classSchema, 0, s.Comment)
	}
	for _, t := range types {
		class := classType
		if t.Function != nil {
			class = classFunction
		}
		add(t.OID, class, 0, t.Comment)
		for _, k := range t.constraints() {
			add(constraintOID(t.OID, k.FirstName), classConstraint, 0, k.Comment)
		}
	}
	for i := range relations {
		r := &relations[i]
		add(r.OID, classRelation, 0, r.Comment)
		for n, c := range r.Columns {
			add(r.OID, classRelation, n+1, c.Comment)
		}
		for _, k := range r.Constraints {
			add(k.oid(r), classConstraint, 0, k.Comment)
		}
		for _, x := range r.Indexes {
			add(constraintOID(r.OID, x.FirstName), classRelation, 0, x.Comment)
		}
	}
	return rows
}
