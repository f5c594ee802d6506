package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/lex"
)

// casts writes a value as one of a type.
type casts func(value, typ string) string

func castTo(value, typ string) string { return "CAST((" + value + "\n) AS " + typ + ")" }

// Lookup is Query for the Arrow kernels, which cast constants, parameters and exact numbers: what else they compute is
// as the user wrote it, and Stores reports whether it has the columns' types all the same. parameters are the types
// that are known of $1, $2, …. ok is false if the text is not for them.
func (r Rewrite) Lookup(n *snapshot.Numbers, parameters []duckdb.ParameterType) (text dialect.Source, ok bool) {
	table := n.Version.Table()
	if l := r.looked; l.table != nil && l.table.Name == table.Name && l.table.Columns.Equal(table.Columns) &&
		slices.Equal(l.parameters, parameters) {
		return l.text, l.ok
	}
	if text, ok = r.lookup(n, parameters); !ok {
		text = dialect.Source{}
	}
	if most := r.looked.most; most == 0 || !ok || len(text.Text()) <= most {
		*r.looked = looked{&table, slices.Clone(parameters), text, ok, most}
	}
	return text, ok
}

// looked is what Lookup gave last, for a table of these columns: they change seldom, and a text is long to parse.
type looked struct {
	table      *catalog.Table
	parameters []duckdb.ParameterType
	text       dialect.Source
	ok         bool
	most       int // bytes of a text that is kept; 0: any
}

// lookedMore is by how much the text of a lookup may be longer when the types of its parameters are known.
const lookedMore = 256

// Looked is how many bytes a text has that c keeps with its tree, for its caller to charge: it keeps no longer one from
// then on.
func Looked(c Change) int {
	r, ok := c.(Rewrite)
	if !ok || !r.looked.ok {
		return 0
	}
	r.looked.most = len(r.looked.text.Text()) + lookedMore
	return r.looked.most
}

func (r Rewrite) lookup(n *snapshot.Numbers, parameters []duckdb.ParameterType) (text dialect.Source, ok bool) {
	if len(r.rows) > 0 {
		return text, false
	}
	if r.values != nil && !r.Removes && cast.Generates(n.Version.Table().Columns) {
		return text, false // generated columns are computed of what the others become (cast.Query)
	}
	query, err := r.query(n, n.Table(), func(value, typ string) string {
		if isConstant(value) {
			return castTo(value, typ)
		}
		value = typed(value, parameters)
		if isExact(typ) {
			return castTo(value, typ)
		}
		return "(" + value + "\n)"
	})
	if err != nil {
		return text, false
	}
	text, err = dialect.Literals(dialect.SourceOf(query))
	_, untyped := dialect.UntypedIn(text)
	return text, err == nil && !untyped && text.Tree != nil
}

// isExact reports whether a type is one of exact numbers, among which the kernels cast what is computed.
func isExact(typ string) bool {
	name, _, _ := strings.Cut(typ, "(")
	switch name {
	case "SMALLINT", "INTEGER", "BIGINT", "DECIMAL":
		return true
	}
	return false
}

// isConstant reports whether a value is one literal or one parameter.
func isConstant(value string) bool {
	count, signed := 0, false
	for t := range lex.Client.Tokens(value) {
		if count == 0 && !signed && t.Is("-") {
			signed = true
			continue
		}
		count++
		if t.Kind != lex.Number && t.Kind != lex.Parameter && t.Kind != lex.String && !t.Is("null") && !t.Is("true") && !t.Is("false") {
			return false
		}
	}
	return count == 1
}

// castable are the types as which the kernels take parameters.
var castable = map[duckdb.ParameterType]string{
	duckdb.TypeInt16: "SMALLINT", duckdb.TypeInt32: "INTEGER", duckdb.TypeInt64: "BIGINT",
	duckdb.TypeFloat64: "DOUBLE PRECISION",
}

// typed says of the parameters in a value of which types they are.
func typed(value string, parameters []duckdb.ParameterType) string {
	var b strings.Builder
	at := 0
	for t := range lex.Client.Tokens(value) {
		if t.Kind != lex.Parameter {
			continue
		}
		i := dialect.ParameterIndex(t.Text)
		if i < 0 || i >= len(parameters) || castable[parameters[i]] == "" {
			continue
		}
		fmt.Fprintf(&b, "%sCAST(%s AS %s)", value[at:t.Start], t.Text, castable[parameters[i]])
		at = t.End()
	}
	return b.String() + value[at:]
}

// Stores reports whether what q computes may be stored in the columns as it is. q is the plan of Lookup.
func (r Rewrite) Stores(q *plan.Query, columns *arrow.Schema) bool {
	if r.values == nil || r.Removes {
		return true
	}
	for i, f := range columns.Fields() {
		o := q.Outputs[i]
		if o.Expr.Op == plan.OpColumn && q.Table.Project[o.Expr.Column] == i {
			continue
		}
		_, marked := f.Metadata.GetValue("ARROW:extension:name")
		if marked || o.Type.Kind == plan.KindOther || o.Type != plan.TypeOf(f.Type) {
			return false
		}
	}
	return true
}

// Schema is that of what q gives, which is Lookup's plan: the columns by their names, if it gives any, and the numbers.
func (r Rewrite) Schema(q *plan.Query, columns *arrow.Schema) *arrow.Schema {
	given := ingest.LogicalSchema(q.Schema())
	fields := given.Fields()
	for i := range len(fields) - 1 {
		f := columns.Field(i)
		fields[i].Name, fields[i].Metadata = f.Name, f.Metadata
	}
	return arrow.NewSchema(fields, nil)
}
