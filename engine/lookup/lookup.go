package lookup

import (
	"maps"
	"slices"
	"sync"

	"github.com/csmsql/csmsql/catalog"
)

// Names are those whose meaning a statement, or a block, has asked for. Safe for concurrent use.
type Names struct {
	mu    sync.Mutex // guards the rest
	names map[catalog.TableName]bool
	all   bool
}

// Note adds one.
func (n *Names) Note(schema, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil {
		n.names = map[catalog.TableName]bool{}
	}
	n.names[catalog.TableName{Schema: schema, Name: name}] = true
}

// Everything says that there are others.
func (n *Names) Everything() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = true
}

// List is all that were noted; all: there are others.
func (n *Names) List() (names []catalog.TableName, all bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.names)), n.all
}

// Add notes what others has, too; either may be nil.
func (n *Names) Add(others *Names) {
	if n == nil || others == nil || n == others {
		return
	}
	names, all := others.List()
	for _, name := range names {
		n.Note(name.Schema, name.Name)
	}
	if all {
		n.Everything()
	}
}

// Meaning is what a name means: a version of a table, or else a view, or a type, or nothing.
type Meaning struct {
	Table *catalog.TableVersion
	View  *catalog.View
	Type  *catalog.UserType
}

// Meanings are those of names at some time.
type Meanings map[catalog.TableName]Meaning

// Meanings are what the names mean, by of; nil where there are others.
func (n *Names) Meanings(of func(catalog.TableName) Meaning) Meanings {
	names, all := n.List()
	if all {
		return nil
	}
	m := make(Meanings, len(names))
	for _, name := range names {
		m[name] = of(name)
	}
	return m
}

// Same reports whether all names mean by of what they did.
func (m Meanings) Same(of func(catalog.TableName) Meaning) bool {
	for name, was := range m {
		if of(name) != was {
			return false
		}
	}
	return true
}
