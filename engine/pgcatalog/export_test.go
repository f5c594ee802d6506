package pgcatalog

import (
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// IsCatalogQueryNaive is IsCatalogQuery without the shortcuts: everything is walked by reflection.
func IsCatalogQueryNaive(tree *pg.ParseResult) bool {
	m, _ := data()
	s := &search{model: m, tree: tree}
	var walk func(message protoreflect.Message) bool
	walk = func(message protoreflect.Message) bool {
		s.inspect(message.Interface())
		eachMessage(message, walk)
		return true
	}
	walk(tree.ProtoReflect())
	return s.found
}
