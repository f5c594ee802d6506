package distribute

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/plan"
)

// class is what must be known of an expression's type: what its sum is, and whether its values come through a stage
// unchanged (D5). The zero class knows nothing.
type class struct {
	kind             classKind
	precision, scale int    // of decimals; 38 digits if it is not known how many
	ubigint          bool   // of integers: beside any other integer but these it becomes HUGEINT
	name             string // of a base column: its exact type, so that types can be compared
}

type classKind uint8

const (
	unknown classKind = iota
	null              // a bare NULL
	boolean
	integer // up to 64 bits
	hugeint // leaves DuckDB as DECIMAL(38,0)
	decimal
	floating
	other // text, dates, lists …: whatever base columns can have, or surely comes through unchanged
)

// typeName distinguishes logical types of columns.
func typeName(c *plan.Column) string {
	name := c.Type.String()
	switch c.Type.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		name = "utf8"
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		name = "binary"
	}
	if d, ok := c.Type.(arrow.DecimalType); ok {
		name = fmt.Sprintf("decimal(%d,%d)", d.GetPrecision(), d.GetScale())
	}
	if c.Mark != "" {
		name += " " + c.Mark
	}
	return name
}

// hashable: values that are equal are the same bytes, so that nothing needs to be said about how they are hashed.
func hashable(name string) bool {
	return name != "" && !strings.HasPrefix(name, "float") && !strings.HasPrefix(name, "half") &&
		!strings.Contains(name, "interval") && !strings.Contains(name, "<") && !strings.HasPrefix(name, "list")
}

// classOf is the class of a base column.
func classOf(of *plan.Column) class {
	t := of.Type
	c := class{kind: other, name: typeName(of)}
	switch t.ID() {
	case arrow.BOOL:
		c.kind = boolean
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		c.kind, c.ubigint = integer, t.ID() == arrow.UINT64
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		c.kind = floating
	}
	if d, ok := t.(arrow.DecimalType); ok {
		c.kind, c.precision, c.scale = decimal, int(d.GetPrecision()), int(d.GetScale())
	}
	return c
}

func (c class) known() bool { return c.kind != unknown }

// exact: a sum of such values does not depend on their order.
func (c class) exact() bool {
	return c.kind == boolean || c.kind == integer || c.kind == hugeint || c.kind == decimal
}

func (c class) numeric() bool { return c.exact() && c.kind != boolean || c.kind == floating }

// sum is the class of sum(x).
func (c class) sum() class {
	switch c.kind {
	case boolean, integer, hugeint:
		return class{kind: hugeint}
	case decimal:
		return class{kind: decimal, precision: 38, scale: c.scale}
	case floating:
		return c
	}
	return class{}
}

// unify is the class of CASE … THEN c ELSE d END, unknown where DuckDB's choice is not certain.
func unify(c, d class) class {
	switch {
	case c.kind == null:
		return d
	case d.kind == null:
		return c
	case c.kind == d.kind && c.ubigint != d.ubigint:
		return class{}
	case c.kind == d.kind && c.kind != decimal:
		if c.name != d.name {
			c.name = ""
		}
		return c
	case c.kind == decimal && d.kind == decimal, c.kind == decimal && d.kind == integer, c.kind == integer && d.kind == decimal:
		return class{kind: decimal, precision: 38, scale: max(c.scale, d.scale)}
	case c.kind == floating && d.numeric(), d.kind == floating && c.numeric():
		return class{kind: floating}
	}
	return class{}
}

// arithmetic is the class of c op d.
func arithmetic(op string, c, d class) class {
	if op == "||" {
		if c.kind == other && d.kind == other {
			return class{kind: other}
		}
		return class{}
	}
	if !c.numeric() || !d.numeric() || c.kind == hugeint || d.kind == hugeint {
		return class{}
	}
	decimals := c.kind == decimal || d.kind == decimal
	if op == "/" || op == "csm_divide" && decimals || c.kind == floating || d.kind == floating {
		if op == "//" || op == "%" {
			return class{}
		}
		return class{kind: floating}
	}
	if c.kind == integer && d.kind == integer {
		if c.ubigint != d.ubigint {
			return class{}
		}
		return class{kind: integer, ubigint: c.ubigint}
	}
	switch op {
	case "+", "-":
		return class{kind: decimal, precision: 38, scale: max(c.scale, d.scale)}
	case "*":
		return class{kind: decimal, precision: min(38, c.digits()+d.digits()), scale: c.scale + d.scale}
	}
	return class{}
}

// digits bounds how many digits a number has.
func (c class) digits() int {
	if c.kind == decimal {
		return c.precision
	}
	return 20
}

// castClasses are the types of casts by the names that PostgreSQL's parser gives them.
var castClasses = map[string]classKind{
	"bool": boolean, "boolean": boolean,
	"int1": integer, "tinyint": integer, "int2": integer, "smallint": integer, "int4": integer, "integer": integer, "int": integer, "int8": integer, "bigint": integer,
	"utinyint": integer, "usmallint": integer, "uinteger": integer, "ubigint": integer,
	"hugeint": hugeint, "float4": floating, "float8": floating, "float": floating, "double": floating, "real": floating,
	"text": other, "varchar": other, "string": other, "bpchar": other, "date": other, "timestamp": other, "timestamptz": other, "time": other,
	"uuid": other, "blob": other, "bytea": other, "interval": other, "timestamp_s": other, "timestamp_ms": other, "timestamp_ns": other,
}
