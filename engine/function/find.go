package function

import (
	"cmp"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/tree"
)

// Named is the function that a name means, with the types of its parameters, if they are said; or an error (42883).
func Named(v *snapshot.View, kind statement.Object, name statement.Name, types []string) (*catalog.UserType, error) {
	if err := snapshot.OwnDatabase(name.Database, name.String()); err != nil {
		return nil, err
	}
	t := v.LookupFunction(name.Schema, name.Name)
	if t == nil && types == nil {
		return nil, sqlerror.New("42883", "could not find a %s named %q", kind, name.String())
	}
	said := make([]string, len(types))
	for i, sql := range types {
		said[i] = typeName(v.Contents, sql)
	}
	missing := sqlerror.New("42883", "%s %s(%s) does not exist", kind, name.String(), strings.Join(said, ", "))
	if t == nil {
		return nil, missing
	}
	f, err := Of(t)
	if err != nil || types == nil {
		return t, err
	}
	if !slices.Equal(f.Types(v.Contents), said) {
		return nil, missing.WithHint("There is " + f.Signature() + ".")
	}
	return t, nil
}

// typeName is what PostgreSQL calls a type, however it is written.
func typeName(contents *catalog.Contents, sql string) string {
	parsed, err := tree.Parse("SELECT NULL::" + sql)
	if err != nil {
		return sql
	}
	of := parsed.Stmts[0].Stmt.GetSelectStmt().GetTargetList()[0].GetResTarget().GetVal().GetTypeCast().GetTypeName()
	name := ""
	for _, n := range of.GetNames() {
		name = n.GetString_().GetSval()
	}
	if number, ok := enumeration.Named(name); ok {
		if t, ok := contents.TypeOf(catalog.TableID(number)); ok {
			name = t.Name.Name
		}
	}
	return cmp.Or(shownTypes[name], name) + strings.Repeat("[]", min(1, len(of.GetArrayBounds())))
}

// shownTypes are the types that PostgreSQL calls something else than its parser does.
var shownTypes = map[string]string{
	"int2": "smallint", "int4": "integer", "int8": "bigint", "float4": "real", "float8": "double precision",
	"bool": "boolean", "bpchar": "character", "varchar": "character varying", "varbit": "bit varying",
	"time": "time without time zone", "timetz": "time with time zone",
	"timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone",
}

// Comment is COMMENT ON FUNCTION.
func Comment(tx *catalog.Transaction, v *snapshot.View, head *statement.Comment) error {
	t, err := Named(v, head.Object, head.Name, head.Signature)
	if err != nil {
		return err
	}
	next := &catalog.UserType{ID: t.ID, Name: t.Name, Function: t.Function, Comment: head.Text, CreatedAt: t.CreatedAt}
	return tx.RedefineType(t.Name, next)
}
