package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/barrier"
	"github.com/csmsql/csmsql/catalog/internal/format"
	"github.com/csmsql/csmsql/catalog/internal/horizon"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/internal/notes"
	"github.com/csmsql/csmsql/catalog/internal/numbers"
	"github.com/csmsql/csmsql/catalog/internal/pages"
	"github.com/csmsql/csmsql/catalog/internal/waiting"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/signal"
	"github.com/csmsql/csmsql/internal/tally"
	"github.com/csmsql/csmsql/memregion"
)

// Catalog is the lender's side: it commits, leases and reclaims. Safe for concurrent use.
type Catalog struct {
	store    Store
	stored   *pages.Pages // of store
	lender   Lender
	options  Options
	source   *hugetable.Source
	identity string

	registered Revision      // of this node's record in a cluster; set by Open
	reports    chan struct{} // holds one token: what this node reads should be reported soon

	reporting struct { // above mu
		sync.Mutex
		reported record.Presence // guarded by reporting; the presence on record
		since    Revision        // guarded by reporting; from which revision on it is there
	}

	retiring   sync.Mutex             // held while the lender is asked to retire extents; above mu
	queue      waiting.Line[*request] // of commits and notes
	groups     tally.Sizes            // how many transactions were committed together
	last       barrier.Barrier
	committing chan struct{} // holds a token while a commit is under way; above mu
	commits    uint64        // guarded by committing; makes commit tokens differ
	broken     error         // guarded by committing; a node that is alone does not know an outcome: no more commits
	doubted    *commit       // guarded by committing; its outcome is not known yet
	following  atomic.Bool   // the store's watch runs
	noted      notes.Book    // guarded by committing; rows that are on record only
	unsealed   atomic.Bool   // written under committing: there are such rows

	identities numbers.Numbers

	mu ledger
}

// ledger is what the catalog's lock guards: who sees what, and so what must stay.
type ledger struct {
	sync.Mutex
	closed    bool
	current   *state
	leases    map[LeaseID]*lease
	nextLease LeaseID
	domains   map[coherence.Domain]int     // leases per domain
	living    states                       // states that are current or leased
	pinned    map[coherence.Domain]*states // those of them that are pinned for a domain
	pages     map[PageID]*pageState
	shared    map[ExtentID]int  // extents in more than one living page: in how many (K3)
	garbage   []garbage         // dead pages that are still in the store
	postponed horizon.Postponed // dead extents that another node may still read (K7)
	history   *horizon.History
	regions   map[memregion.RegionID]*RegionRecord
	members   map[string]*Member

	// Of a catalog in a cluster.
	applied Revision            // every change up to here is seen
	begun   map[string]Revision // the newest incarnation of every node, also of those that are gone
	missed  Revision            // changes before here were missed: any lender may have restarted before
	moved   signal.Signal       // there is another state, applied has grown, or ended is set
	ended   error               // why Run follows no more
	pending *commit             // whose transaction is on its way to the store
	state   MemberState
}

// garbage is a page that died at a revision.
type garbage struct {
	page   PageID
	diedAt Revision
}

// state is one revision that is current or leased.
type state struct {
	contents *Contents
	leases   map[coherence.Domain]int
	pinned   map[coherence.Domain]bool
	total    int
	loaded   bool // every page's extents are known
}

type pageState struct {
	refs    int // versions that contain it
	extents []ExtentID
	pins    map[coherence.Domain]int // versions that are pinned for a domain
}

// Open reads the catalog from its store, or begins one if the store is empty. Versions that were only held by leases of
// a former process are gone: no lease outlives its process, and only current versions have records. The caller adopts
// LiveExtents at the lenders before it takes snapshots, and closes the store after the catalog.
func Open(ctx context.Context, st Store, lender Lender, options Options) (*Catalog, error) {
	if options.Domain == "" {
		options.Domain = defaultHome
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.ReportInterval == 0 {
		options.ReportInterval = 200 * time.Millisecond
	}
	if options.Patience == 0 {
		options.Patience = 5 * time.Second
	}
	c := &Catalog{
		store: st, stored: pages.Of(st), lender: lender, options: options,
		reports: make(chan struct{}, 1), committing: make(chan struct{}, 1),
	}
	c.identities.Store, c.noted.Store, c.last.Store, c.noted.Boot = st, st, st, options.Boot
	c.source = hugetable.NewSource(c, options.CacheBytes)
	c.mu.leases, c.mu.domains = map[LeaseID]*lease{}, map[coherence.Domain]int{}
	c.mu.pinned = map[coherence.Domain]*states{}
	c.mu.pages = map[PageID]*pageState{}
	c.mu.shared = map[ExtentID]int{}
	c.mu.regions, c.mu.members = map[memregion.RegionID]*RegionRecord{}, map[string]*Member{}
	c.mu.begun = map[string]Revision{}
	if err := c.begin(ctx); err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	if c.shared() {
		if err := c.register(ctx); err != nil {
			return nil, fmt.Errorf("open catalog: %w", err)
		}
	}
	found, err := c.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	c.noted.Restored = !c.unsealed.Load()
	c.mu.Lock()
	c.mu.regions, c.mu.members, c.mu.applied = found.regions, found.members, found.revision
	marks := horizon.Marks{}
	for id, region := range found.regions {
		marks[id] = max(region.Generations, 1) - 1
	}
	c.mu.history = horizon.Begin(marks)
	c.install(found.contents, nil)
	c.holdRead()
	c.mu.Unlock()
	if err := c.loadShared(ctx); err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	if err := c.findGarbage(ctx); err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	return c, nil
}

// begin takes the store's catalog, or begins one in an empty store.
func (c *Catalog) begin(ctx context.Context) (err error) {
	for _, name := range c.options.InitialSchemas {
		if err := checkName(name); err != nil {
			return err
		}
	}
	c.identity, err = format.Take(ctx, c.store, c.options.Now(), c.options.InitialSchemas)
	switch {
	case errors.Is(err, format.ErrOther):
		return fmt.Errorf("%w: %w", ErrFormat, err)
	case errors.Is(err, format.ErrDamaged):
		return damaged("format", err)
	}
	return err
}

// reading collects records in one scan; names are joined to what they name afterwards.
type reading struct {
	catalog  *Catalog
	revision Revision // of the store
	// contents have the revision of the last commit, as they have at the other nodes. The scan's revision may be later:
	// the others reach it only with the next commit (K7).
	contents *Contents
	names    map[TableName]Revision
	regions  map[memregion.RegionID]*RegionRecord
	members  map[string]*Member
}

func (c *Catalog) read(ctx context.Context) (*reading, error) {
	r := &reading{
		catalog: c, contents: newContents(), names: map[TableName]Revision{},
		regions: map[memregion.RegionID]*RegionRecord{}, members: map[string]*Member{},
	}
	prefixes := []string{keys.Format, keys.Commit, keys.SchemaPrefix, keys.NamePrefix, keys.TablePrefix,
		keys.ViewPrefix, keys.TypePrefix, keys.KeptPrefix, keys.RegionPrefix, keys.NodePrefix, keys.PresencePrefix}
	revision, err := c.store.Scan(ctx, prefixes, func(item store.Item) error {
		if err := r.item(item); err != nil {
			return fmt.Errorf("record %q: %w", item.Key, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.revision = revision
	return r, r.check()
}

func (r *reading) item(item store.Item) error {
	if item.Key == keys.Format || item.Key == keys.Commit { // the format comes with the first schemas, before commits
		r.contents.revision = max(r.contents.revision, item.Revision)
		return nil
	}
	switch kind, rest, _ := strings.Cut(item.Key, "/"); kind + "/" {
	case keys.SchemaPrefix:
		r.contents.setSchema(rest, schemaEntry{item.Revision, string(item.Value)})
	case keys.NamePrefix:
		schema, name, ok := strings.Cut(rest, keys.NameSeparator)
		if !ok {
			return damaged("name", fmt.Errorf("no separator"))
		}
		r.names[TableName{Schema: schema, Name: name}] = item.Revision
	case keys.TablePrefix:
		if _, _, is := keys.ParseNote(item.Key); is {
			r.catalog.unsealed.Store(true)
			return nil
		}
		v, err := hugetable.Decode(item.Value, r.catalog.source)
		if err != nil {
			return err
		}
		r.contents.setTable(v.Table().Name, tableEntry{version: v, revision: item.Revision})
	case keys.ViewPrefix:
		v, err := decodeView(item.Value)
		if err != nil {
			return err
		}
		r.contents.setView(v.Name, viewEntry{view: v, revision: item.Revision})
	case keys.TypePrefix:
		t, err := decodeType(item.Value)
		if err != nil {
			return err
		}
		r.contents.setType(t.Name, typeEntry{t, item.Revision})
	case keys.KeptPrefix:
		key, err := keys.ParseKept(rest)
		if err != nil {
			return damaged("kept version", err)
		}
		e, err := r.catalog.keptVersion(r.contents, key, item)
		if err != nil {
			return err
		}
		r.contents.kept = r.contents.kept.With(key, e)
	case keys.RegionPrefix:
		g, err := decodeRegion(item.Value)
		if err != nil {
			return err
		}
		r.regions[g.ID] = g
	case keys.NodePrefix, keys.PresencePrefix: // the first comes before the second
		return (&change{members: r.members}).putMember(kind+"/", rest, item)
	}
	return nil
}

// check joins names and relations: each must have the other.
func (r *reading) check() error {
	if found := r.contents.tables.Len() + r.contents.views.Len() + r.contents.types.Len(); found != len(r.names) {
		return damaged("names", fmt.Errorf("%d names for %d tables, views and types", len(r.names), found))
	}
	for name := range r.names {
		if identity(r.contents, name) == 0 || !r.contents.HasSchema(name.Schema) {
			return damaged("names", fmt.Errorf("%q names no table, view or type, or has no schema", name))
		}
	}
	return nil
}

// findGarbage lists the stored pages that no version has: left by a process that died between two steps.
func (c *Catalog) findGarbage(ctx context.Context) error {
	c.mu.Lock()
	living := maps.Clone(c.mu.pages)
	c.mu.Unlock()
	var dead []PageID
	revision, err := c.stored.List(ctx, func(id PageID) {
		if living[id] == nil {
			dead = append(dead, id)
		}
	})
	if errors.Is(err, pages.ErrDamaged) {
		return damaged("page", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range dead {
		// In a cluster it may be a page of a commit that is under way: whose base is older than this scan (K7).
		c.mu.garbage = append(c.mu.garbage, garbage{id, revision})
	}
	return err
}

// Identity is a random name that the catalog got when it was made: which catalog a data directory, or a peer, belongs
// to.
func (c *Catalog) Identity() string { return c.identity }

// Revision is that of the last commit.
func (c *Catalog) Revision() Revision {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.current.contents.revision
}

// Page implements Pages from the store; it also serves borrowers. A node that was given up, and does not know it yet,
// has no leases any more: if a page of its snapshots is gone, no table is damaged.
func (c *Catalog) Page(ctx context.Context, id PageID) ([]byte, error) {
	data, ok, err := c.stored.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if ok {
		return hugetable.Expand(id, data)
	}
	if c.shared() {
		// It fails when the session is over, whatever this process has heard (S7).
		if _, err := c.store.Commit(ctx, store.Transaction{}); err != nil {
			return nil, cmp.Or(ctx.Err(), c.membership(err))
		}
	}
	return nil, fmt.Errorf("%w: page %v", hugetable.ErrLost, id)
}

// Close ends all leases and refuses everything afterwards. It does not close the store.
func (c *Catalog) Close() error {
	c.committing <- struct{}{} // a commit under way ends first
	defer func() { <-c.committing }()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.closed = true
	c.mu.ended = ErrClosed
	c.mu.moved.Broadcast()
	clear(c.mu.leases)
	return nil
}

func (c *Catalog) log(message string, err error) {
	if err != nil && c.options.Log != nil {
		c.options.Log(message, err)
	}
}

// newIdentity is a new table's, region's, view's, type's or counter's number.
func (c *Catalog) newIdentity(ctx context.Context) (uint64, error) {
	id, err := c.identities.Next(ctx)
	if errors.Is(err, numbers.ErrDamaged) {
		err = damaged("counter", err)
	}
	return id, err
}
