package planned

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/setting"
)

// Share counts what the sessions of an engine keep. Safe for concurrent use.
type Share struct {
	Plans int   // at most
	Most  int64 // bytes

	mu    sync.Mutex // guards the rest; a leaf
	plans int
	bytes int64
}

// Take reports whether another plan may be kept.
func (k *Share) Take(bytes int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.plans >= k.Plans || k.bytes+bytes > k.Most {
		return false
	}
	k.plans, k.bytes = k.plans+1, k.bytes+bytes
	return true
}

// Give is for one that is kept no more.
func (k *Share) Give(bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.plans, k.bytes = k.plans-1, k.bytes-bytes
}

// Kept is how many plans there are, and their bytes.
func (k *Share) Kept() (plans int, bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.plans, k.bytes
}

// Basis is what a plan was made over, beside its text.
type Basis struct {
	Revision     catalog.Revision
	Names        lookup.Meanings    // what planning has looked up; nil: unknown
	Own          bool               // it was planned over a block's own changes, which are in no revision
	Path         []string           // where its names were looked for
	Hiding       snapshot.Temporary // the session's own objects, which hide what is called so
	Meaning      string             // the session's
	Faults       uint64             // pages that had been found gone when planning, which reads too, began
	Verification reader.Verification
	Momentary    bool             // it has values of the moment in which it was made (Momentary)
	Without      optimization.Set // what planning and running it leave out (csm.disable)
	Nodes        []string         // that were there; nil: it does not depend on them
	Reads        *lookup.Names    // what planning looked up
}

// Stands reports whether the plan stands for what v shows, where another one would be made over now. nodes are those
// that are there. temporary: the session may have temporary objects.
func (b *Basis) Stands(now *Basis, nodes func() []string, temporary bool, v *snapshot.View) bool {
	return !b.Momentary && (b.Nodes == nil || slices.Equal(b.Nodes, nodes())) && b.Faults == now.Faults &&
		slices.Equal(b.Path, now.Path) && maps.Equal(b.Hiding, now.Hiding) && b.Meaning == now.Meaning &&
		b.Verification == now.Verification &&
		b.Without == now.Without && b.means(now, v, temporary)
}

// means reports whether the plan's names mean in v what they did: those of others may have changed. Whether they are
// those of temporary objects is in no revision, and what a block has changed itself neither.
func (b *Basis) means(now *Basis, v *snapshot.View, temporary bool) bool {
	revision := v.Contents.Revision()
	if (b.Revision != revision || b.Own || now.Own) && (b.Names == nil || temporary || !b.Names.Same(v.Meaning)) {
		return false
	}
	b.Revision = revision
	return true
}

// Momentary reports whether a plan of a text for DuckDB, for which v has been read, has values of the moment in which
// it is made: DuckDB finds LOCALTIME and LOCALTIMESTAMP out when it plans, and all other times when it runs.
func Momentary(text string, v *snapshot.View) bool {
	if asksForLocalTime(text) {
		return true
	}
	names, _ := v.Reads.List()
	return slices.ContainsFunc(names, func(name catalog.TableName) bool {
		view, isView := v.Contents.View(name)
		return isView && asksForLocalTime(view.SQL)
	})
}

// asksForLocalTime is true of some texts that do not, too, which costs a plan.
func asksForLocalTime(text string) bool { return strings.Contains(strings.ToLower(text), "localtime") }

// Unused is how EXPLAIN says what planning leaves out; nothing if nothing is.
func (b *Basis) Unused() []string {
	if b.Without == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Not used: %s (%s)", b.Without, setting.Disable)}
}
