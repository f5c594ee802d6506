package snapshot

import (
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/names"
)

// Named is a table as a statement names it, in a session that has no temporary table of the name.
type Named struct {
	Schema, Name string   // Schema is empty if it is not written
	Path         []string // the session's search_path
}

// In finds the table that is meant in contents; nil: none is.
func (n Named) In(contents *catalog.Contents) *catalog.TableVersion {
	v := &View{Contents: contents, Path: n.Path, Reads: &lookup.Names{}}
	return v.Lookup("", n.Schema, n.Name)
}

// Rests reports whether contents say so for as long as no other schema comes and the table, which is the one that is
// meant, keeps its name: it is found at once, or behind schemas that are not there. Otherwise a relation that comes may
// be meant from then on.
func (n Named) Rests(contents *catalog.Contents) bool {
	for _, schema := range n.path() {
		if _, ok := contents.Table(catalog.TableName{Schema: schema, Name: n.Name}); ok {
			return true
		}
		if _, ok := names.SchemaNamed(contents, schema); ok {
			return false
		}
	}
	return false
}

func (n Named) path() []string {
	if n.Schema != "" {
		return []string{n.Schema}
	}
	return n.Path
}

// Same reports whether another one is written the same way.
func (n Named) Same(other Named) bool {
	return n.Schema == other.Schema && n.Name == other.Name && slices.Equal(n.Path, other.Path)
}
