package constraint

import (
	"fmt"
	"slices"
	"strings"
)

// FirstName is the name that it had at first.
func (k Constraint) FirstName() string {
	if k.Born != "" {
		return k.Born
	}
	return k.Name
}

// Identified is a constraint beside others, of which none had its first name at first.
func (k Constraint) Identified(others []Constraint) Constraint {
	taken := func(name string) bool {
		return slices.ContainsFunc(others, func(o Constraint) bool { return o.FirstName() == name })
	}
	for n := 1; taken(k.FirstName()); n++ {
		k.Born = fmt.Sprintf("%s %d", k.Name, n)
	}
	return k
}

// At is what one of the lists of an index says of a column.
func At(list []string, column int) string {
	if column < len(list) {
		return list[column]
	}
	return ""
}

// IndexDefinition is how the index of a key, or an index, is made, as pg_get_indexdef shows it. table is the name of
// its table, as SQL, and quote makes an identifier SQL.
func (k Constraint) IndexDefinition(table string, quote func(string) string) string {
	columns := make([]string, len(k.Columns))
	for i, name := range k.Columns {
		parts := []string{quote(name)}
		for _, part := range []string{At(k.Classes, i), At(k.Orders, i)} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		columns[i] = strings.Join(parts, " ")
	}
	text := "CREATE "
	if k.Unique() {
		text += "UNIQUE "
	}
	text += "INDEX " + quote(k.Name) + " ON " + table + " USING " + k.AccessMethod()
	text += " (" + strings.Join(columns, ", ") + ")"
	if k.NullsNotDistinct {
		text += " NULLS NOT DISTINCT"
	}
	if len(k.Options) > 0 {
		options := make([]string, len(k.Options))
		for i, o := range k.Options {
			name, value, _ := strings.Cut(o, "=")
			options[i] = name + "='" + value + "'"
		}
		text += " WITH (" + strings.Join(options, ", ") + ")"
	}
	return text
}

// AccessMethod is PostgreSQL's name for how an index is kept.
func (k Constraint) AccessMethod() string {
	if k.Method != "" {
		return k.Method
	}
	return "btree"
}
