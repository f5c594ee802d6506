package pgcatalog

import (
	"strconv"
	"strings"
	"sync"

	"github.com/csmsql/csmsql/sql/pgcatalog/copytext"
)

// Index of a table.
type Index struct {
	Name string
	// FirstName is the one that it had at first, from which its object ID follows (P3); a key's has the key's.
	FirstName string
	// Columns are the numbers of its columns, from 1; Orders what pg_index.indoption says of each, and Classes the
	// operator classes that were asked for, empty: the default one.
	Columns []int
	Orders  []int
	Classes []string
	// Method is its access method's name.
	Method  string
	Options []string
	Unique  bool
	Primary bool
	// Immediate: rows are held to it by each statement. Valid: all rows are in it.
	Immediate, Valid bool
	NullsNotDistinct bool
	// Head and Tail are what stands before and behind the table's name in what pg_get_indexdef says.
	Head, Tail string
	Comment    string
}

// methods are the object IDs of access methods.
var methods = map[string]uint32{"btree": 403, "hash": 405}

// operatorClass is a class of an access method, by its name or for a type.
type operatorClass struct {
	method uint32
	name   string
	of     uint32
}

// operatorClasses are the object IDs of pg_opclass.
var operatorClasses = sync.OnceValues(func() (map[operatorClass]uint32, error) {
	t, err := copytext.Read(readFile("pg_opclass.tsv"))
	if err != nil {
		return nil, err
	}
	list := map[operatorClass]uint32{}
	read := func(row []*string, column string) uint32 {
		n, wrong := strconv.ParseUint(t.Text(row, column), 10, 32)
		if wrong != nil {
			err = wrong
		}
		return uint32(n)
	}
	for _, row := range t.Rows {
		oid, method := read(row, "oid"), read(row, "opcmethod")
		list[operatorClass{method: method, name: t.Text(row, "opcname")}] = oid
		if t.Text(row, "opcdefault") == "t" {
			list[operatorClass{method: method, of: read(row, "opcintype")}] = oid
		}
	}
	return list, err
})

// Types of text, and the collation that they have.
const oidText, oidVarchar, oidBpchar, oidName, defaultCollation = 25, 1043, 1042, 19, 100

func indexRows(relations []Relation, oids map[string]uint32,
	classes map[operatorClass]uint32) (rows, columns rowSet) {
	rows = rowSet{
		{name: "oid", duckType: "UINTEGER"}, {name: "name", duckType: "VARCHAR"},
		{name: "relation", duckType: "UINTEGER"}, {name: "schema", duckType: "VARCHAR"},
		{name: "schema_oid", duckType: "UINTEGER"}, {name: "method", duckType: "UINTEGER"},
		{name: "columns", duckType: "SMALLINT[]"}, {name: "orders", duckType: "SMALLINT[]"},
		{name: "classes", duckType: "UINTEGER[]"}, {name: "collations", duckType: "UINTEGER[]"},
		{name: "options", duckType: "VARCHAR[]"}, {name: "unique", duckType: "BOOLEAN"},
		{name: "primary", duckType: "BOOLEAN"}, {name: "immediate", duckType: "BOOLEAN"},
		{name: "valid", duckType: "BOOLEAN"}, {name: "nulls_not_distinct", duckType: "BOOLEAN"},
		{name: "head", duckType: "VARCHAR"}, {name: "qualified", duckType: "VARCHAR"},
		{name: "bare", duckType: "VARCHAR"}, {name: "tail", duckType: "VARCHAR"},
	}
	columns = rowSet{
		{name: "index", duckType: "UINTEGER"}, {name: "number", duckType: "SMALLINT"}, {name: "name", duckType: "VARCHAR"},
		{name: "type", duckType: "UINTEGER"}, {name: "typmod", duckType: "INTEGER"},
	}
	for i := range relations {
		r := &relations[i]
		for _, x := range r.Indexes {
			oid, method := constraintOID(r.OID, x.FirstName), methods[x.Method]
			var ofColumns, collations []int
			names := map[string]int{}
			for n, at := range x.Columns {
				c := r.Columns[at-1]
				ofColumns = append(ofColumns, int(x.class(n, method, c.Type, classes)))
				collations = append(collations, collationOf(c.Type))
				columns.add(number(oid), number(n+1), text(again(names, c.Name)), number(c.Type), number(c.Typmod))
			}
			bare := plainIdentifier(r.Name)
			rows.add(number(oid), text(x.Name), number(r.OID), text(r.Schema), number(oids[r.Schema]), number(method),
				numbers(x.Columns), numbers(x.Orders), numbers(ofColumns), numbers(collations), options(x.Options),
				boolean(x.Unique), boolean(x.Primary), boolean(x.Immediate), boolean(x.Valid), boolean(x.NullsNotDistinct),
				text(x.Head), text(plainIdentifier(r.Schema)+"."+bare), text(bare), text(x.Tail))
		}
	}
	return rows, columns
}

// again is the name of a column of an index, in which names may come again: a, a1.
func again(names map[string]int, name string) string {
	n := names[name]
	names[name]++
	if n == 0 {
		return name
	}
	return name + strconv.Itoa(n)
}

// class is the operator class of a column, 0: none is known.
func (x *Index) class(n int, method, of uint32, classes map[operatorClass]uint32) uint32 {
	if n < len(x.Classes) && x.Classes[n] != "" {
		return classes[operatorClass{method: method, name: x.Classes[n]}]
	}
	if of == oidVarchar {
		of = oidText
	}
	return classes[operatorClass{method: method, of: of}]
}

func collationOf(of uint32) int {
	switch of {
	case oidText, oidVarchar, oidBpchar, oidName:
		return defaultCollation
	}
	return 0
}

// options is a list of texts as DuckDB reads it; nil: NULL.
func options(list []string) *string {
	if list == nil {
		return nil
	}
	return text("[" + strings.Join(list, ", ") + "]")
}
