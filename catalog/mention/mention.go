package mention

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/internal/enumeration"
)

// Marks of the metadata of a table's schema, and of its columns, that mention something.
const (
	// Constraints is a schema's: its constraints, as JSON.
	Constraints = "csm.constraints"
	// Domain is a column's: the number of its domain.
	Domain = "csm.domain"
	// NextValue begins what a default calls of a sequence: its number stands behind, in parentheses.
	NextValue = "csm_nextval__of"
	// Called is before the number of a function that an expression calls.
	Called = "csm_function__"
)

// Kind of a mention.
type Kind uint8

// The kinds, and what else a mention of each has.
const (
	unreadable Kind = iota
	Reference       // a foreign key to a table: its Number
	Index           // an index, or a key with one: its Name, in the schema of the table
	Type            // an enumerated type or a domain: its Number
	Sequence        // a sequence: its Number
	Query           // the table is a materialized view
	Deferrable      // it has a constraint that is
	Function        // a function that an expression calls: its Number
)

// Mention is one thing that the record of a table mentions.
type Mention struct {
	Kind   Kind
	Number uint64
	Name   hugetable.TableName
}

func (m Mention) compare(o Mention) int {
	return cmp.Or(cmp.Compare(m.Kind, o.Kind), cmp.Compare(m.Number, o.Number), m.Name.Compare(o.Name))
}

// constraint is what of one is needed here (package constraint has the rest).
type constraint struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	References uint64 `json:"references"`
	Deferrable bool   `json:"deferrable"`
}

// Of lists what the record of a table mentions; a mention may come twice.
func Of(table hugetable.Table) (list []Mention) {
	meta := table.Columns.Metadata()
	if meta.FindKey(hugetable.QueryKey) >= 0 {
		list = append(list, Mention{Kind: Query})
	}
	if text, ok := meta.GetValue(Constraints); ok {
		list = constraints(list, table, text)
	}
	list = texts(list, meta.Values())
	for _, f := range table.Columns.Fields() {
		if t := enumeration.Of(f); t != nil {
			list = append(list, Mention{Kind: Type, Number: t.Number()})
		}
		if f.Metadata.Len() == 0 {
			continue
		}
		if text, ok := f.Metadata.GetValue(Domain); ok {
			if number, err := strconv.ParseUint(text, 10, 64); err == nil {
				list = append(list, Mention{Kind: Type, Number: number})
			}
		}
		list = texts(list, f.Metadata.Values())
	}
	return list
}

func constraints(list []Mention, table hugetable.Table, text string) []Mention {
	var all []constraint
	if json.Unmarshal([]byte(text), &all) != nil {
		return append(list, Mention{Kind: unreadable})
	}
	for _, k := range all {
		switch k.Kind {
		case "f":
			list = append(list, Mention{Kind: Reference, Number: cmp.Or(k.References, uint64(table.ID))})
		case "p", "u", "i":
			name := hugetable.TableName{Schema: table.Name.Schema, Name: k.Name}
			list = append(list, Mention{Kind: Index, Name: name})
		}
		if k.Deferrable {
			list = append(list, Mention{Kind: Deferrable})
		}
	}
	return list
}

// texts adds the types, sequences and functions that texts call by their numbers.
func texts(list []Mention, values []string) []Mention {
	for _, text := range values {
		list = numbers(list, text, enumeration.NamePrefix, Type)
		list = numbers(list, text, NextValue+"(", Sequence)
		list = numbers(list, text, Called, Function)
	}
	return list
}

func numbers(list []Mention, text, before string, kind Kind) []Mention {
	for {
		_, behind, found := strings.Cut(text, before)
		if !found {
			return list
		}
		digits := len(behind) - len(strings.TrimLeft(behind, "0123456789"))
		if n, err := strconv.ParseUint(behind[:digits], 10, 64); err == nil {
			list = append(list, Mention{Kind: kind, Number: n})
		}
		text = behind
	}
}
