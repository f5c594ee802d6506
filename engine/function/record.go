package function

import (
	"encoding/json"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/inline"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Parameter of a Function.
type Parameter = inline.Parameter

// Function is one as its record has it.
type Function struct {
	inline.Function
	Declared
	Columns []arrow.Field // of its parameters, and of its result behind them; of type NULL: a macro's
}

// Declared is what is kept of a function beside its name and its parameters.
type Declared struct {
	Dialect    string               `json:"dialect"` // of its texts
	Macro      bool                 `json:"macro,omitempty"`
	Text       string               `json:"text"`    // what the dialect makes of the body
	Written    string               `json:"written"` // the body as its user wrote it
	Form       string               `json:"form"`    // as statement.CreateFunction.Bodies
	Volatility statement.Volatility `json:"volatility"`
	IsStrict   bool                 `json:"strict,omitempty"`
	Parallel   string               `json:"parallel"`
}

// Keys of the metadata of a record's columns: of all of them, and of each.
const (
	declaredKey = "csm.function"
	typeKey     = "csm.function.type"
	castKey     = "csm.function.cast"
	defaultKey  = "csm.function.default"
	writtenKey  = "csm.function.default.written"
)

// columns are those of the record.
func (f *Function) columns() (*arrow.Schema, error) {
	data, err := json.Marshal(f.Declared)
	if err != nil {
		return nil, err
	}
	meta := arrow.NewMetadata([]string{declaredKey}, []string{string(data)})
	return arrow.NewSchema(f.Columns, &meta), nil
}

// Of reads a record.
func Of(t *catalog.UserType) (*Function, error) {
	f := &Function{Columns: t.Function.Fields()}
	data, ok := t.Function.Metadata().GetValue(declaredKey)
	if !ok || json.Unmarshal([]byte(data), &f.Declared) != nil {
		return nil, sqlerror.New("XX001", "the record of function %q is damaged", Name(t))
	}
	f.Name, f.Body, f.Strict, f.Means = Name(t), f.Text, f.IsStrict, f.Dialect
	last := len(f.Columns) - 1
	for _, c := range f.Columns[:last] {
		p := inline.Parameter{Name: c.Name, Type: typeOf(c)}
		p.Default, _ = c.Metadata.GetValue(defaultKey)
		f.Parameters = append(f.Parameters, p)
	}
	f.Result = typeOf(f.Columns[last])
	return f, nil
}

func typeOf(column arrow.Field) (t inline.Type) {
	t.Name, _ = column.Metadata.GetValue(typeKey)
	t.Cast, _ = column.Metadata.GetValue(castKey)
	return t
}

// Name is what a function is called by.
func Name(t *catalog.UserType) string {
	return strings.TrimSuffix(t.Name.Name, catalog.FunctionName("", "").Name)
}

// WrittenDefault is the default of a parameter as its user wrote it; empty: it has none.
func WrittenDefault(column arrow.Field) string {
	text, _ := column.Metadata.GetValue(writtenKey)
	return text
}

// same reports whether two records are of one function.
func same(a, b *catalog.UserType) bool {
	return a == b || a != nil && b != nil && a.ID == b.ID && a.Function.Equal(b.Function) &&
		a.Function.Metadata().Equal(b.Function.Metadata())
}

// Types are what the parameters' are called in contents.
func (f *Function) Types(contents *catalog.Contents) []string {
	list := make([]string, len(f.Parameters))
	for i, p := range f.Parameters {
		if list[i] = "any"; p.Type.Name != "" {
			list[i] = typeName(contents, p.Type.Name)
		}
	}
	return list
}

// MacroText is the statement that makes a macro of a schema.
func (f *Function) MacroText(schema string) string {
	list := make([]string, len(f.Parameters))
	for i, p := range f.Parameters {
		list[i] = dialect.PlainIdentifier(p.Name)
		if text := WrittenDefault(f.Columns[i]); text != "" {
			list[i] += " := " + text
		}
	}
	return "CREATE OR REPLACE MACRO " + dialect.PlainIdentifier(schema) + "." + dialect.PlainIdentifier(f.Name) +
		"(" + strings.Join(list, ", ") + ") AS " + f.Written
}
