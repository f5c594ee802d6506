package follow

import (
	"sync"
	"sync/atomic"

	"github.com/csmsql/csmsql/catalog"
)

// Contents are what a catalog shows now, what is closed when it shows something else, and why it never will again.
type Contents func() (now *catalog.Contents, moved <-chan struct{}, ended error)

// Hub notifies watches of what commits have changed, those of this node and of others. Safe for concurrent use.
type Hub struct {
	contents Contents
	stop     chan struct{}
	loop     sync.WaitGroup

	watched atomic.Int64 // watches, from before they look

	mu        sync.Mutex        // guards what follows; Tell is called under it
	announced *catalog.Contents // the contents that watches know
	tables    watches[catalog.TableID]
	names     watches[catalog.TableName]
	ended     error
	runs      bool // the loop does
}

// NewHub is a hub whose loop runs from its first watch on.
func NewHub(contents Contents) *Hub {
	return &Hub{
		contents: contents, stop: make(chan struct{}),
		tables: watches[catalog.TableID]{}, names: watches[catalog.TableName]{},
	}
}

// Tell is called with what the table is now; nil: it is not there any more, or err says why nothing is known of it from
// now on. It may be called from any goroutine, must not block, and must not use the hub.
type Tell func(now *catalog.TableVersion, err error)

// watch is one registered callback; its address is its name.
type watch struct {
	tell Tell
	saw  uint64 // of a Remote: the version that it has seen, and waits for another one; 0: it does not wait
}

// watches are those of a table, or of a name.
type watches[K comparable] map[K]map[*watch]struct{}

func (all watches[K]) add(key K, w *watch) {
	if all[key] == nil {
		all[key] = map[*watch]struct{}{}
	}
	all[key][w] = struct{}{}
}

func (all watches[K]) remove(key K, w *watch) {
	if delete(all[key], w); len(all[key]) == 0 {
		delete(all, key)
	}
}

func (all watches[K]) tell(key K, now *catalog.TableVersion) {
	for w := range all[key] {
		w.tell(now, nil)
	}
}

func (all watches[K]) end(err error) {
	for _, those := range all {
		for w := range those {
			w.tell(nil, err)
		}
	}
}

// Watched implements Source.
func (h *Hub) Watched() bool { return h.watched.Load() > 0 }

// Table watches a table by its identity, whatever it is called, until stop.
func (h *Hub) Table(id catalog.TableID, tell Tell) (stop func(), err error) {
	return enter(h, h.tables, id, tell)
}

// Name watches what a name means, whatever table that is, until stop.
func (h *Hub) Name(name catalog.TableName, tell Tell) (stop func(), err error) {
	return enter(h, h.names, name, tell)
}

func enter[K comparable](h *Hub, all watches[K], key K, tell Tell) (stop func(), err error) {
	h.watched.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil {
		h.watched.Add(-1)
		return nil, h.ended
	}
	moved, _ := h.lookLocked() // what was committed before is no news for a new watch
	if !h.runs {
		h.runs = true
		h.loop.Go(func() { h.run(moved) })
	}
	w := &watch{tell: tell}
	all.add(key, w)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, is := all[key][w]; is {
			h.watched.Add(-1)
		}
		all.remove(key, w)
	}, nil
}

// name implements Source.
func (h *Hub) name(name catalog.TableName, tell Tell) (stop func(), err error) {
	return h.Name(name, tell)
}

// watch implements Source: what a watch has seen is of no use here, where it is notified of everything.
func (h *Hub) watch(id catalog.TableID, tell Tell) (saw func(*catalog.TableVersion), stop func(), err error) {
	stop, err = h.Table(id, tell)
	return func(*catalog.TableVersion) {}, stop, err
}

// run is the loop.
func (h *Hub) run(moved <-chan struct{}) {
	for {
		select {
		case <-moved:
		case <-h.stop:
			return
		}
		var ended error
		if moved, ended = h.look(); ended != nil {
			h.end(ended)
			return
		}
	}
}

// look notifies watches of the tables that have changed since the last call, and returns when to look again, or why
// never. The catalog is read under mu, so that a later call sees no less.
func (h *Hub) look() (moved <-chan struct{}, ended error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lookLocked()
}

func (h *Hub) lookLocked() (moved <-chan struct{}, ended error) {
	now, moved, ended := h.contents()
	before := h.announced
	h.announced = now
	if now == before || len(h.tables) == 0 && len(h.names) == 0 {
		return moved, ended
	}
	for was, is := range now.TablesSince(before) {
		switch {
		case is == nil:
			h.names.tell(was.Table().Name, nil)
		case was == nil || news(was, is):
			h.names.tell(is.Table().Name, is)
			h.tables.tell(is.Table().ID, is)
		}
		if was != nil && (is == nil || is.Table().ID != was.Table().ID) {
			if _, ok := now.TableOf(was.Table().ID, was.Table().Name); !ok {
				h.tables.tell(was.Table().ID, nil)
			}
		}
	}
	return moved, ended
}

// news reports whether a follower that has read one version has something to read in another one.
func news(was, is *catalog.TableVersion) bool {
	return was.Table().ID != is.Table().ID || was.Table().Name != is.Table().Name || !was.SameContents(is)
}

// end notifies all watches that no more comes.
func (h *Hub) end(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended == nil {
		h.ended = why
		h.tables.end(why)
		h.names.end(why)
	}
}

// Close implements Source.
func (h *Hub) Close(why error) {
	h.end(why)
	close(h.stop)
	h.loop.Wait()
}
