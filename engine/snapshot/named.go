package snapshot

import (
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/lookup"
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

// Same reports whether another one is written the same way.
func (n Named) Same(other Named) bool {
	return n.Schema == other.Schema && n.Name == other.Name && slices.Equal(n.Path, other.Path)
}
