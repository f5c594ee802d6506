package duckdb

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
)

// Users' types are ENUMs in DuckDB, without names in its catalog. Texts of ours name a type by its number, which is
// replaced by the ENUM that it is in the statement's snapshot. Columns of results, and parameters, say by the mark
// among their words which type they are of (package enumeration).

// TypesOf says what a type is by its number, as SQL; false: there is none.
type TypesOf func(number uint64) (sql string, ok bool)

// NameTypes sets the types that texts planned or run from now on may name. Types that it does not know, the database
// may.
func (c *Connection) NameTypes(of TypesOf) { c.types = of }

// NameTypes sets it for connections that have none of their own. It is called before there are any.
func (db *Database) NameTypes(of TypesOf) { db.types = of }

// withTypes replaces the names of users' types in a text, which DuckDB does not know.
func (c *Connection) withTypes(sql string) (string, edit.List) {
	if !strings.Contains(sql, enumeration.NamePrefix) {
		return sql, nil
	}
	edited := edit.New(sql)
	for t := range lex.Client.Tokens(sql) {
		if t.Kind != lex.Word {
			continue
		}
		if number, ok := enumeration.Named(t.Text); ok {
			if is, ok := c.typeOf(number); ok {
				edited.Replace(t.Start, t.End(), is)
			}
		}
	}
	return edited.Text()
}

func (c *Connection) typeOf(number uint64) (sql string, ok bool) {
	for _, of := range []TypesOf{c.types, c.db.types} {
		if of == nil {
			continue
		}
		if sql, ok = of(number); ok {
			return sql, true
		}
	}
	return "", false
}

// inGiven moves an error's place from what withTypes wrote to what it was given.
func inGiven(err error, made edit.List) error {
	var e *Error
	if len(made) > 0 && errors.As(err, &e) && e.Byte >= 0 {
		e.Byte = made.Back(e.Byte)
	}
	return err
}

// noLabel matches DuckDB's message about a text that is no word of an ENUM of up to 256.
var noLabel = regexp.MustCompile(
	`(?s)^Could not convert string ['"](.*)['"] to UINT8(?: when casting from source column .*)?$`)

// labelError turns DuckDB's error about a text into one about a label, if it is that. It names no type of several.
func labelError(err error, sql string) error {
	var e *Error
	if !strings.Contains(sql, enumeration.MarkHead) || !errors.As(err, &e) {
		return err
	}
	e.Message, e.HintText = withNames(e.Message), withNames(e.HintText)
	parts := noLabel.FindStringSubmatch(e.Message)
	if parts == nil {
		return err
	}
	e.State, e.Message = "22P02", fmt.Sprintf("invalid input value for enum: \"%s\"", parts[1])
	if t := enumeration.OnlyOne(sql); t != nil {
		e.Message = t.Refusal(parts[1])
	}
	return err
}

// written is an ENUM as DuckDB writes it, with a mark in it.
var written = regexp.MustCompile(`"?(?i:ENUM)"?\((?:'(?:[^']|'')*',\s*)*'` + regexp.QuoteMeta(enumeration.MarkHead) +
	`(?:[^']|'')*'\)`)

// UsersTypes are the types that users made among those of a text of DuckDB's.
func UsersTypes(text string) (list []*enumeration.Type) {
	for _, is := range written.FindAllString(text, -1) {
		var words []string
		for t := range lex.Client.Tokens(is) {
			if word, ok := t.Value(); ok && t.Kind == lex.String {
				words = append(words, word)
			}
		}
		if t := enumeration.OfWords(words); t != nil {
			list = append(list, t)
		}
	}
	return list
}

// withNames puts the names of users' types into a message, or a column's name, of DuckDB's.
func withNames(text string) string {
	if !strings.Contains(text, enumeration.MarkHead) {
		return text
	}
	return written.ReplaceAllStringFunc(text, func(is string) string {
		if t := enumeration.OnlyOne(is); t != nil {
			return t.TypeName()
		}
		return is
	})
}

// marked is a field of a result that says of which type its values are, or those in it.
func marked(f arrow.Field, t bindings.LogicalType) arrow.Field {
	if !hasEnum(f.Type) {
		return f
	}
	part := func(f arrow.Field, of bindings.LogicalType) arrow.Field {
		defer bindings.DestroyLogicalType(&of)
		return marked(f, of)
	}
	switch shape := f.Type.(type) {
	case *arrow.DictionaryType:
		if is := enumerated(t); is != nil {
			f.Metadata = is.Mark()
		}
	case *arrow.ListType:
		f.Type = arrow.ListOfField(part(shape.ElemField(), bindings.ListTypeChildType(t)))
	case *arrow.FixedSizeListType:
		f.Type = arrow.FixedSizeListOfField(shape.Len(), part(shape.ElemField(), bindings.ArrayTypeChildType(t)))
	case *arrow.MapType:
		f.Type = arrow.MapOfFields(part(shape.KeyField(), bindings.MapTypeKeyType(t)),
			part(shape.ItemField(), bindings.MapTypeValueType(t)))
	case *arrow.StructType:
		fields := shape.Fields()
		for i := range fields {
			fields[i] = part(fields[i], bindings.StructTypeChildType(t, bindings.IdxT(i)))
		}
		f.Type = arrow.StructOf(fields...)
	}
	return f
}

func hasEnum(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return true
	case arrow.NestedType:
		for _, f := range t.Fields() {
			if hasEnum(f.Type) {
				return true
			}
		}
	}
	return false
}

// enumerated is the type that an ENUM is; nil: it is none of the users'.
func enumerated(t bindings.LogicalType) *enumeration.Type {
	if bindings.GetTypeId(t) != bindings.TypeEnum {
		return nil
	}
	words := make([]string, bindings.EnumDictionarySize(t))
	if len(words) == 0 || !enumeration.IsMark(bindings.EnumDictionaryValue(t, bindings.IdxT(len(words)-1))) {
		return nil
	}
	for i := range words {
		words[i] = bindings.EnumDictionaryValue(t, bindings.IdxT(i))
	}
	return enumeration.OfWords(words)
}

// UserTypes are the types that users made of the statement's parameters; nil of one of another type.
func (s *Statement) UserTypes() []*enumeration.Type {
	list := make([]*enumeration.Type, len(s.parameters))
	for i, p := range s.parameters {
		list[i] = enumerated(p.kind)
	}
	return list
}

// refuseLabel is the error of a value that is no label of the parameter's type. DuckDB would take the parameter for
// text then, and compare texts.
func (p promised) refuseLabel(i int, arg any) error {
	if p.id != bindings.TypeEnum || arg == nil {
		return nil
	}
	t := enumerated(p.kind)
	if t == nil {
		return nil
	}
	text, ok := arg.(string)
	if !ok {
		return &Error{State: "42804", Byte: -1,
			Message: fmt.Sprintf("parameter $%d is of type %s: a value of Go type %T is none", i+1, t.TypeName(), arg)}
	}
	if _, ok := t.Code(text); !ok {
		return &Error{State: "22P02", Byte: -1, Message: t.Refusal(text)}
	}
	return nil
}
