package pgcatalog

import (
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// Constraint of a table.
type Constraint struct {
	Name string
	// FirstName is the one that it had at first, from which its object ID follows (P3).
	FirstName string
	// Kind is pg_constraint.contype: 'c', 'p', 'u' or 'f'.
	Kind byte
	// Columns are the numbers of its columns, from 1.
	Columns []int
	// References is the OID of the table that a foreign key names, and ReferenceColumns that table's columns.
	References       uint32
	ReferenceColumns []int
	// OnUpdate, OnDelete and Match are those of pg_constraint; 0 for what is no foreign key.
	OnUpdate, OnDelete, Match byte
	Deferrable, Deferred      bool
	// Validated: all rows hold it.
	Validated                   bool
	NoInherit, NullsNotDistinct bool
	// Definition is what pg_get_constraintdef says, Expression that of a check.
	Definition, Expression string
	Comment                string
}

// constraintOID depends on the table and the name alone (P3). It is above those of relations, because a key is an index
// in pg_class, too.
func constraintOID(relation uint32, name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(strconv.FormatUint(uint64(relation), 10) + " " + name))
	return 1<<30 | h.Sum32()>>2
}

func (k *Constraint) oid(r *Relation) uint32 { return constraintOID(r.OID, k.FirstName) }

func constraintRows(relations []Relation, types []Type, oids map[string]uint32) rowSet {
	rows := rowSet{
		{name: "oid", duckType: "UINTEGER"}, {name: "name", duckType: "VARCHAR"}, {name: "relation", duckType: "UINTEGER"}, {name: "schema_oid", duckType: "UINTEGER"},
		{name: "kind", duckType: "VARCHAR"}, {name: "columns", duckType: "SMALLINT[]"}, {name: "references", duckType: "UINTEGER"}, {name: "reference_columns", duckType: "SMALLINT[]"},
		{name: "on_update", duckType: "VARCHAR"}, {name: "on_delete", duckType: "VARCHAR"}, {name: "match", duckType: "VARCHAR"}, {name: "deferrable", duckType: "BOOLEAN"},
		{name: "deferred", duckType: "BOOLEAN"}, {name: "validated", duckType: "BOOLEAN"}, {name: "no_inherit", duckType: "BOOLEAN"}, {name: "nulls_not_distinct", duckType: "BOOLEAN"},
		{name: "definition", duckType: "VARCHAR"},
		{name: "expression", duckType: "VARCHAR"},
		{name: "domain", duckType: "UINTEGER"},
	}
	add := func(oid, relation, domain, schema uint32, k *Constraint) {
		rows.add(number(oid), text(k.Name), number(relation), number(schema), text(string(k.Kind)),
			numbers(k.Columns), number(k.References), numbers(k.ReferenceColumns),
			letter(k.OnUpdate), letter(k.OnDelete), letter(k.Match), boolean(k.Deferrable), boolean(k.Deferred),
			boolean(k.Validated), boolean(k.NoInherit), boolean(k.NullsNotDistinct),
			text(k.Definition), optional(k.Expression), number(domain))
	}
	for _, t := range types {
		for i := range t.constraints() {
			k := &t.Domain.Constraints[i]
			add(constraintOID(t.OID, k.FirstName), 0, t.OID, oids[t.Schema], k)
		}
	}
	for i := range relations {
		r := &relations[i]
		for _, k := range r.Constraints {
			add(k.oid(r), r.OID, 0, oids[r.Schema], &k)
		}
	}
	return rows
}

// plainIdentifier quotes what must be, as quote_ident does.
func plainIdentifier(name string) string {
	if ordinary.MatchString(name) {
		return name
	}
	return lex.Quote(name)
}

var ordinary = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

func letter(b byte) *string {
	if b == 0 {
		return text(" ")
	}
	return text(string(b))
}

// numbers is a list as DuckDB reads it; nil: NULL.
func numbers(list []int) *string {
	if list == nil {
		return nil
	}
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = strconv.Itoa(n)
	}
	return text("[" + strings.Join(parts, ", ") + "]")
}
