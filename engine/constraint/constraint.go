package constraint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/internal/mark"
)

// key of the metadata of a table's schema.
const key = mention.Constraints

// Kind is what a constraint demands, as pg_constraint.contype has it.
type Kind string

// The kinds.
const (
	Check      Kind = "c"
	PrimaryKey Kind = "p"
	Unique     Kind = "u"
	ForeignKey Kind = "f"
	// Index demands nothing: rows are only to be found by its columns. pg_constraint has none of these.
	Index Kind = "i"
)

// Constraint of a table.
type Constraint struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Columns are those of a key, or those that a check reads, as far as they are known.
	Columns []string `json:"columns,omitempty"`
	// Expression of a check, with the record of its calls (package calling), and the name that the table had when it
	// was written: the expression may say it.
	Expression string `json:"expression,omitempty"`
	Table      string `json:"table,omitempty"`
	// References is the identity of the table that a foreign key names, 0 for its own; and that table's columns.
	References        uint64   `json:"references,omitempty"`
	ReferencedColumns []string `json:"referenced_columns,omitempty"`
	// ReferencesSchema and ReferencesTable are what that table was called then: where to look for it first.
	ReferencesSchema string `json:"references_schema,omitempty"`
	ReferencesTable  string `json:"references_table,omitempty"`
	// Match, OnDelete and OnUpdate are words in capitals.
	Match            string `json:"match,omitempty"`
	OnDelete         string `json:"on_delete,omitempty"`
	OnUpdate         string `json:"on_update,omitempty"`
	Deferrable       bool   `json:"deferrable,omitempty"`
	Deferred         bool   `json:"deferred,omitempty"`
	NullsNotDistinct bool   `json:"nulls_not_distinct,omitempty"`
	NoInherit        bool   `json:"no_inherit,omitempty"`
	// Index says of a Unique that CREATE UNIQUE INDEX made it: rows are held to it, and it is no constraint.
	Index bool `json:"index,omitempty"`
	// Orders are what an index says of the order of each column where it is not the default: "DESC", "NULLS FIRST",
	// "DESC NULLS LAST"; shorter than Columns, or nil, if the rest have it.
	Orders []string `json:"orders,omitempty"`
	// Classes are the operator classes of an index' columns where they are not the default, as Orders are.
	Classes []string `json:"classes,omitempty"`
	// Method is how an index was asked to be kept if that is not btree, and Options what WITH (…) said.
	Method  string   `json:"method,omitempty"`
	Options []string `json:"options,omitempty"`
	// Born is the name that it had at first, from which the number follows by which clients know it; empty: Name.
	Born string `json:"born,omitempty"`
	// IndexComment is what COMMENT ON INDEX says of a key's index.
	IndexComment string `json:"index_comment,omitempty"`
	// Held says of a key, or a foreign key, that rows are held to it. Those of programs that could not do so are on
	// record without it.
	Held bool `json:"held,omitempty"`
	// Comment is what COMMENT ON says.
	Comment string `json:"comment,omitempty"`
	// Domain is the number of the domain of its column of which it is a check; 0: it is the table's own. State and Says
	// are the error of a value that it does not allow.
	Domain uint64 `json:"domain,omitempty"`
	State  string `json:"state,omitempty"`
	Says   string `json:"says,omitempty"`
	// NotValid says of a domain's own check that there may be rows from before it.
	NotValid bool `json:"not_valid,omitempty"`
}

// Of are the constraints on the record of a table. What another program wrote and cannot be read is an error: rows must
// not be written without what they were promised.
func Of(schema *arrow.Schema) (list []Constraint, err error) {
	text, ok := schema.Metadata().GetValue(key)
	if !ok {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("the constraints on record cannot be read: %w", err)
	}
	return list, nil
}

// Mark gives a schema its constraints in the place of those that it has.
func Mark(schema *arrow.Schema, list []Constraint) (*arrow.Schema, error) {
	if len(list) == 0 {
		return marked(schema, key, ""), nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return marked(schema, key, string(text)), nil
}

// marked is a schema whose metadata has a value, or has it no longer.
func marked(schema *arrow.Schema, name, value string) *arrow.Schema {
	meta := mark.WithAny(schema.Metadata(), name, value)
	return arrow.NewSchema(schema.Fields(), &meta)
}

// referencedKey of the metadata of a table's schema.
const referencedKey = "csm.referenced"

// Referencing are the tables that foreign keys to a table are of, by their identities: some may be gone, or have none
// any more. Its own are not among them.
func Referencing(schema *arrow.Schema) (tables []uint64, err error) {
	text, ok := schema.Metadata().GetValue(referencedKey)
	if !ok {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &tables); err != nil {
		return nil, fmt.Errorf("the foreign keys on record cannot be read: %w", err)
	}
	return tables, nil
}

// MarkReferencing gives a schema its Referencing.
func MarkReferencing(schema *arrow.Schema, tables []uint64) (*arrow.Schema, error) {
	text, err := json.Marshal(tables)
	if err != nil {
		return nil, err
	}
	return marked(schema, referencedKey, string(text)), nil
}

// Enforced reports whether rows are held to the constraint when they are written.
func (k Constraint) Enforced() bool { return k.Kind == Check || k.Held }

// IsIndex reports whether it is an index of its own, which is no constraint.
func (k Constraint) IsIndex() bool { return k.Kind == Index || k.Index }

// HasIndex reports whether rows are found by its columns.
func (k Constraint) HasIndex() bool { return k.Kind == Index || k.Unique() && k.Held }

// Sorted are the lists of columns by which rows are to be found, each once, in the order of the list. None has a column
// twice: behind itself it says nothing.
func Sorted(list []Constraint) (columns [][]string) {
	for _, k := range list {
		if !k.HasIndex() {
			continue
		}
		var names []string
		for _, c := range k.Columns {
			if !slices.Contains(names, c) {
				names = append(names, c)
			}
		}
		if !slices.ContainsFunc(columns, func(other []string) bool { return slices.Equal(other, names) }) {
			columns = append(columns, names)
		}
	}
	return columns
}

// Unique reports whether the constraint is one that no two rows have equal values.
func (k Constraint) Unique() bool { return k.Kind == PrimaryKey || k.Kind == Unique }

// Words are what the constraint is called in SQL.
func (k Constraint) Words() string {
	words := map[Kind]string{
		Check: "CHECK", PrimaryKey: "PRIMARY KEY", Unique: "UNIQUE", ForeignKey: "FOREIGN KEY", Index: "INDEX",
	}
	if k.Index {
		return "UNIQUE INDEX"
	}
	return words[k.Kind]
}

// nameBytes is how long PostgreSQL's names are.
const nameBytes = 63

// Named gives a constraint that has no name PostgreSQL's, another one than others have.
func (k Constraint) Named(table string, others []Constraint) Constraint {
	return k.NamedBeside(table, func(name string) bool {
		return slices.ContainsFunc(others, func(o Constraint) bool { return o.Name == name })
	})
}

// NamedBeside is Named where names are taken that none of the table's constraints has: those of indexes are a schema's.
func (k Constraint) NamedBeside(table string, taken func(name string) bool) Constraint {
	if k.Name != "" {
		return k
	}
	label := map[Kind]string{Check: "check", PrimaryKey: "pkey", Unique: "key", ForeignKey: "fkey", Index: "idx"}[k.Kind]
	columns := strings.Join(k.Columns, "_")
	if k.IsIndex() {
		label, columns = "idx", strings.Join(distinct(k.Columns), "_")
	}
	if k.Kind == PrimaryKey || k.Kind == Check && len(k.Columns) != 1 {
		columns = ""
	}
	for n := 0; ; n++ {
		end := label
		if n > 0 {
			end = fmt.Sprintf("%s%d", label, n)
		}
		k.Name = makeName(table, columns, end)
		if !taken(k.Name) {
			return k
		}
	}
}

// distinct gives columns that an index has twice PostgreSQL's names for them: a, a1.
func distinct(columns []string) (names []string) {
	for _, c := range columns {
		name := c
		for n := 1; slices.Contains(names, name); n++ {
			name = fmt.Sprint(c, n)
		}
		names = append(names, name)
	}
	return names
}

// makeName puts a name together; the longer one of the first two parts is cut until all fits.
func makeName(table, columns, end string) string {
	room := nameBytes - len(end) - 1
	if columns != "" {
		room--
	}
	for len(table)+len(columns) > room {
		if len(table) > len(columns) {
			table = cut(table)
		} else {
			columns = cut(columns)
		}
	}
	if columns == "" {
		return table + "_" + end
	}
	return table + "_" + columns + "_" + end
}

// cut takes a character away.
func cut(s string) string {
	r := []rune(s)
	return string(r[:len(r)-1])
}

// Definition is the constraint as pg_get_constraintdef shows it. referenced is the name of the table that a foreign key
// names, as SQL, and quote makes an identifier SQL.
func (k Constraint) Definition(referenced string, quote func(string) string) string {
	list := func(names []string) string {
		quoted := make([]string, len(names))
		for i, n := range names {
			quoted[i] = quote(n)
		}
		return "(" + strings.Join(quoted, ", ") + ")"
	}
	var b strings.Builder
	switch k.Kind {
	case Check:
		b.WriteString("CHECK ((" + calling.Shown(k.Expression) + "))")
		if k.NoInherit {
			b.WriteString(" NO INHERIT")
		}
	case PrimaryKey:
		b.WriteString("PRIMARY KEY " + list(k.Columns))
	case Unique:
		b.WriteString("UNIQUE ")
		if k.NullsNotDistinct {
			b.WriteString("NULLS NOT DISTINCT ")
		}
		b.WriteString(list(k.Columns))
	case ForeignKey:
		b.WriteString("FOREIGN KEY " + list(k.Columns) + " REFERENCES " + referenced + list(k.ReferencedColumns))
		for _, part := range [][2]string{{" MATCH ", k.Match}, {" ON UPDATE ", k.OnUpdate}, {" ON DELETE ", k.OnDelete}} {
			if part[1] != "" && part[1] != "SIMPLE" {
				b.WriteString(part[0] + part[1])
			}
		}
	}
	if k.Deferrable {
		b.WriteString(" DEFERRABLE")
	}
	if k.Deferred {
		b.WriteString(" INITIALLY DEFERRED")
	}
	if !k.Enforced() || k.NotValid {
		b.WriteString(" NOT VALID")
	}
	return b.String()
}
