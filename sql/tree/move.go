package tree

import (
	"fmt"
	"strings"
	"sync"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/sql/edit"
)

// Moved is a copy of a text's tree with the places that everything has in the text that edits make of it. What the
// edits put in the place of nodes is the caller's to put into the copy, instead of parsing the new text (tree.T3).
func Moved(parsed *pg.ParseResult, made edit.List) *pg.ParseResult {
	moved := proto.Clone(parsed).(*pg.ParseResult)
	Move(moved.ProtoReflect(), made.Forward)
	return moved
}

// Move changes the places that a message and what is in it have in a text, in bytes.
func Move(m protoreflect.Message, to func(offset int) int) {
	for in := range All(m) {
		if s, ok := in.Interface().(*pg.RawStmt); ok && s.StmtLen > 0 {
			s.StmtLen = int32(to(int(s.StmtLocation+s.StmtLen)) - to(int(s.StmtLocation)))
		}
		for _, f := range placesIn(in.Descriptor()) {
			if at := in.Get(f).Int(); at >= 0 { // less: nowhere
				in.Set(f, protoreflect.ValueOfInt32(int32(to(int(at)))))
			}
		}
	}
}

// placesOf keeps what placesIn found, by the message's descriptor.
var placesOf sync.Map

// placesIn are the fields of a kind of message that are places in the text.
func placesIn(d protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	if known, ok := placesOf.Load(d); ok {
		return known.([]protoreflect.FieldDescriptor)
	}
	var found []protoreflect.FieldDescriptor
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		name := string(f.Name())
		if f.Kind() == protoreflect.Int32Kind && (name == "location" || strings.HasSuffix(name, "_location")) {
			found = append(found, f)
		}
	}
	placesOf.Store(d, found)
	return found
}

// Check holds a tree that was made without the parser to what the parser makes of the text, in tests (tree.T3).
func Check(made *pg.ParseResult, sql string) {
	if !invariants.Enabled {
		return
	}
	want, err := pg.Parse(parsed(sql))
	if err != nil || !proto.Equal(want, made) {
		panic(fmt.Sprintf("the tree of %q (%v) is %v, and not %v", sql, err, want, made))
	}
}
