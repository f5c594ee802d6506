package names

import (
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/past"
)

// viewWords remembers the queries of views as statements with those queries would be written for DuckDB, because all
// views are looked at whenever the catalog moves on. Safe for concurrent use.
type viewWords struct {
	known sync.Map // catalog.TableID → *viewText
	last  atomic.Pointer[catalogReaders]
}

// viewText is one view's.
type viewText struct {
	given        string // of which the others are made: a view may get another text
	sql          string
	words        string // the same before operators were translated; empty: it cannot be written for DuckDB
	tree         []byte // PostgreSQL's of words, as its parser gave it; nil: it has none
	readsCatalog bool   // PostgreSQL's system catalogs, which every session has its own copy of
}

// catalogReaders says of a snapshot whether any of its views reads PostgreSQL's catalogs.
type catalogReaders struct {
	contents *catalog.Contents
	some     bool
}

func (w *viewWords) of(v *catalog.View) *viewText {
	if known, ok := w.known.Load(v.ID); ok && known.(*viewText).given == v.SQL {
		return known.(*viewText)
	}
	text := &viewText{given: v.SQL, sql: dialect.Operators(v.SQL)}
	source, _ := dialect.Formats(dialect.SourceOf(v.SQL))
	if words, catalogs, err := dialect.Words(source); err == nil {
		text.sql, text.words, text.readsCatalog = dialect.OperatorsIn(words.Read), words.Text(), catalogs
		if words.Tree != nil {
			text.tree, _ = proto.Marshal(words.Tree) // it was made of such bytes
		}
	}
	text.sql, _ = past.Calls(text.sql)
	w.known.Store(v.ID, text)
	return text
}

// ReadCatalogs reports whether any view does.
func (w *viewWords) readCatalogs(contents *catalog.Contents) bool {
	if last := w.last.Load(); last != nil && contents.SharesViews(last.contents) {
		if last.contents != contents { // which would keep all tables of then
			w.last.Store(&catalogReaders{contents, last.some})
		}
		return last.some
	}
	some := false
	for _, v := range contents.Views() {
		some = some || w.of(v).readsCatalog
	}
	w.last.Store(&catalogReaders{contents, some})
	return some
}

// keep forgets views that are gone.
func (w *viewWords) keep(contents *catalog.Contents) {
	there := map[catalog.TableID]bool{}
	for _, v := range contents.Views() {
		there[v.ID] = true
	}
	w.known.Range(func(id, _ any) bool {
		if !there[id.(catalog.TableID)] {
			w.known.Delete(id)
		}
		return true
	})
}
