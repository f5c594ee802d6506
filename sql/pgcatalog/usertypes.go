package pgcatalog

import "strconv"

// Type is a user-defined type, or a function.
type Type struct {
	Schema, Name string
	OID          uint32 // in the range of relations'
	Comment      string
	Labels       []Label // of an enumerated type, in their order
	Domain       *Domain // nil: it is none
	Function     *Function
}

// Domain is what a domain is beside its name.
type Domain struct {
	Base        uint32 // its type
	Typmod      int32
	NotNull     bool
	Default     string
	Constraints []Constraint
}

// Label is a value of an enumerated type, a row of pg_enum.
type Label struct {
	OID   uint32
	Order float32
	Text  string
}

func (t *Type) constraints() []Constraint {
	if t.Domain == nil {
		return nil
	}
	return t.Domain.Constraints
}

func typeRows(types []Type, oids map[string]uint32) rowSet {
	rows := rowSet{
		{name: "oid", duckType: "UINTEGER"}, {name: "schema", duckType: "VARCHAR"},
		{name: "schema_oid", duckType: "UINTEGER"}, {name: "name", duckType: "VARCHAR"},
		{name: "base", duckType: "UINTEGER"}, {name: "typmod", duckType: "INTEGER"},
		{name: "not_null", duckType: "BOOLEAN"}, {name: "default", duckType: "VARCHAR"},
	}
	for _, t := range types {
		if t.Function != nil {
			continue
		}
		d := t.Domain
		if d == nil {
			d = &Domain{Typmod: -1}
		}
		rows.add(number(t.OID), text(t.Schema), number(oids[t.Schema]), text(t.Name), number(d.Base),
			text(strconv.Itoa(int(d.Typmod))), boolean(d.NotNull), optional(d.Default))
	}
	return rows
}

func labelRows(types []Type) rowSet {
	rows := rowSet{
		{name: "oid", duckType: "UINTEGER"}, {name: "type", duckType: "UINTEGER"},
		{name: "order", duckType: "FLOAT"}, {name: "label", duckType: "VARCHAR"},
	}
	for _, t := range types {
		for _, l := range t.Labels {
			rows.add(number(l.OID), number(t.OID), text(strconv.FormatFloat(float64(l.Order), 'g', -1, 32)), text(l.Text))
		}
	}
	return rows
}
