package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/csmsql/csmsql/catalog/internal/horizon"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// A cluster is several catalogs over one store, one in each node. Two records make that safe, and both vanish with the
// store's session of the node that put them:
//
//	node/NAME      its incarnation; commits compare it (K8)
//	presence/NAME  the revisions that it still reads, and the newest known incarnation of any node (K7, K9)

// MemberState says what a node is up to.
type MemberState uint64

// The states of a member.
const (
	// Joining: it has registered and takes its regions over; it serves no client yet.
	Joining MemberState = iota
	// Online: it lends, reads and writes.
	Online
	// Draining: it is to be emptied; nothing new is placed in it.
	Draining
)

func (s MemberState) String() string {
	return [...]string{"joining", "online", "draining"}[min(s, Draining)]
}

// Member is a node of the cluster as its records say.
type Member struct {
	NodeRecord
	// Registered is the revision of its record: it names the incarnation.
	Registered Revision
	// Oldest is the oldest revision that it reads.
	Oldest Revision
	// Seen is the newest registration of any node that it has taken notice of.
	Seen  Revision
	State MemberState
	reads horizon.Reads
}

// shared reports whether other nodes' catalogs use the same store.
func (c *Catalog) shared() bool { return c.options.Self != nil }

// register puts this node's records into the store. A record of the same name is taken over if it is of the same data
// directory: its lock proves that the former process is dead. From here on the others hold back what this node may read
// (its Oldest is 0), and a commit of its former incarnation fails.
func (c *Catalog) register(ctx context.Context) error {
	self := c.options.Self
	if err := checkName(self.Name); err != nil {
		return fmt.Errorf("name of the node: %w", err)
	}
	for {
		item, ok, err := c.store.Get(ctx, keys.Node(self.Name))
		if err != nil {
			return err
		}
		if ok {
			if err := sameNode(item.Value, self); err != nil {
				return err
			}
		}
		revision, err := c.store.Commit(ctx, store.Transaction{
			Compares: []store.Compare{unchanged(keys.Node(self.Name), item.Revision)},
			Puts: []store.Item{
				{Key: keys.Node(self.Name), Value: self.Encode(), Ephemeral: true},
				{Key: keys.Presence(self.Name), Value: record.Presence{}.Encode(), Ephemeral: true},
			},
		})
		if isConflict(err) {
			continue
		}
		c.registered = revision
		return err
	}
}

// Registered is the revision at which this node was put on record; 0 if no other node shares the store.
func (c *Catalog) Registered() Revision { return c.registered }

// CheckFree reports whether no node of a cluster has the name: none runs under it, and none has left memory behind that
// it will come back for.
func CheckFree(ctx context.Context, s store.Store, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	item, ok, err := s.Get(ctx, keys.Node(name))
	if err != nil {
		return err
	}
	if ok {
		return sameNode(item.Value, &NodeRecord{})
	}
	_, err = s.Scan(ctx, []string{keys.RegionPrefix}, func(item store.Item) error {
		g, err := decodeRegion(item.Value)
		if err == nil && g.Node == name {
			err = fmt.Errorf("%w: region %d at %s is node %q's, which is not running; start it from its own data directory, or take another name", ErrNodeTaken, g.ID, g.Path, name)
		}
		return err
	})
	return err
}

// Forget takes the regions of a node from the record that is lost for good, so that its name is free again. It returns
// how many there were. The caller knows that no chunk lies in them any more. A node that is there is ErrNodeTaken.
func Forget(ctx context.Context, s store.Store, name string) (regions int, err error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	item, ok, err := s.Get(ctx, keys.Node(name))
	if err != nil {
		return 0, err
	}
	if ok {
		return 0, sameNode(item.Value, &NodeRecord{})
	}
	t := store.Transaction{Compares: []store.Compare{unchanged(keys.Node(name), 0)}}
	_, err = s.Scan(ctx, []string{keys.RegionPrefix}, func(item store.Item) error {
		g, err := decodeRegion(item.Value)
		if err == nil && g.Node == name {
			t.Deletes = append(t.Deletes, item.Key)
		}
		return err
	})
	if err != nil || len(t.Deletes) == 0 {
		return 0, err
	}
	if _, err := s.Commit(ctx, t); err != nil {
		return 0, fmt.Errorf("forget node %q: %w", name, err)
	}
	return len(t.Deletes), nil
}

func sameNode(record []byte, self *NodeRecord) error {
	old, err := decodeNode(record)
	if err != nil {
		return err
	}
	if old.Directory != self.Directory {
		return fmt.Errorf("%w: %q runs at %s since %s; give this node another name, or stop that one", ErrNodeTaken, old.Name, old.Address, old.Started.Format(time.DateTime))
	}
	return nil
}

// AwaitSeen returns when every other node has seen that this one registered. Until then they may read what lay in its
// regions before, so nothing there may be written over (K9). A node that is gone is not waited for: its records vanish.
func (c *Catalog) AwaitSeen(ctx context.Context) error {
	const poll = 5 * time.Millisecond
	for c.shared() {
		behind := ""
		// A node that is joining holds no snapshot, and those that it takes later see every commit before now.
		_, err := c.store.Scan(ctx, []string{keys.PresencePrefix}, func(item store.Item) error {
			p, err := decodePresence(item.Value)
			name := strings.TrimPrefix(item.Key, keys.PresencePrefix)
			if name != c.options.Self.Name && MemberState(p.State) != Joining && p.Seen < c.registered {
				behind = name
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("wait for the other nodes: %w", err)
		}
		if behind == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for node %q to see that this node is back: %w", behind, ctx.Err())
		case <-c.store.Session().Done(): // there is nothing to see any more
			return fmt.Errorf("wait for node %q to see that this node is back: %w: %w", behind, ErrFenced, store.ErrSessionOver)
		case <-time.After(poll):
		}
	}
	return nil
}

// SetState says what this node is up to and returns when the others can know and Members shows it here. No snapshot may
// be taken before this node is Online (K9). Preconditions: Run is running.
func (c *Catalog) SetState(ctx context.Context, state MemberState) error {
	if !c.shared() {
		return nil
	}
	c.mu.Lock()
	c.mu.state = state
	c.mu.Unlock()
	revision, err := c.reportPresence(ctx)
	if err != nil {
		return fmt.Errorf("tell the other nodes that this one is %v: %w", state, c.conflictOf(err))
	}
	return c.See(ctx, revision)
}

// Members lists the nodes of the cluster that are there, by name; none if no other node shares the store.
func (c *Catalog) Members() []Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]Member, 0, len(c.mu.members))
	for _, m := range c.mu.members {
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Trust reports whether what was read from the regions under a snapshot may be handed out: this node still is a member,
// and no lender restarted since, which may have overwritten what the snapshot saw. Call it after reading. The node's
// own regions need no trust: it is their lender.
func (s *Snapshot) Trust(regions ...memregion.RegionID) error {
	if s.trust == nil {
		return nil
	}
	return s.trust(regions)
}

// Trust is Snapshot.Trust for what was written by this node when it had seen a revision, and is not committed.
func (c *Catalog) Trust(seen Revision, regions ...memregion.RegionID) error {
	if !c.shared() {
		return nil
	}
	return c.trust(seen, regions)
}

func (c *Catalog) trust(seen Revision, regions []memregion.RegionID) error {
	foreign := false
	c.mu.Lock()
	for _, id := range regions {
		record := c.mu.regions[id]
		if record != nil && record.Node == c.options.Self.Name {
			continue
		}
		foreign = true
		since := c.mu.missed
		if record != nil {
			since = max(since, c.mu.begun[record.Node])
		}
		if since > seen {
			c.mu.Unlock()
			return fmt.Errorf("%w: region %d was lent again since", ErrLenderRestarted, id)
		}
	}
	c.mu.Unlock()
	if !foreign {
		return nil
	}
	return c.Standing()
}

// Standing reports whether this node still is a member: nil, ErrFenced, which is final, or ErrNotSure as long as it
// does not hear from the store.
func (c *Catalog) Standing() error { return c.membership(c.store.Session().Check()) }

// stays reports whether this node stays a member for that long. What it promises to others must not outlive that: the
// lenders of the cluster owe nothing to a node that is gone.
func (c *Catalog) stays(d time.Duration) error { return c.membership(c.store.Session().Lasts(d)) }

// Lag bounds how much older what this node sees is than the last commit, as far as it knows without asking.
func (c *Catalog) Lag() time.Duration {
	if c.shared() && !c.following.Load() {
		return math.MaxInt64
	}
	return c.store.Session().Lag()
}

func (c *Catalog) membership(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, store.ErrSessionOver) {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	return fmt.Errorf("%w: %w", ErrNotSure, err)
}

// Reachable reports whether the lender of a region is there, and which node it is.
func (c *Catalog) Reachable(region memregion.RegionID) (node string, there bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	record := c.mu.regions[region]
	if record == nil {
		return "", false
	}
	return record.Node, !c.shared() || record.Node == c.options.Self.Name || c.mu.members[record.Node] != nil
}

// Living lists the extents of a region that a living version has. The region is this node's, and was adopted.
func (c *Catalog) Living(region memregion.RegionID) map[ExtentID]bool {
	living, _ := c.living(region)
	return living
}

// living also reports whether it knows all of them.
func (c *Catalog) living(region memregion.RegionID) (living map[ExtentID]bool, complete bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	living, complete = map[ExtentID]bool{}, true
	add := func(ids []ExtentID) {
		for _, id := range ids {
			if id.Region == region {
				living[id] = true
			}
		}
	}
	for _, p := range c.mu.pages {
		complete = complete && p.extents != nil
		add(p.extents)
	}
	add(slices.Collect(c.mu.postponed.All()))
	return living, complete
}

// Abandon retires what was published in a region of this node and no version has: its commit never came, or its version
// came and died while this node missed what others committed. It asks the store first, so that nothing is taken for
// lost that this node has only not seen yet, and leaves the extents in place until no other node can read a version
// that may have had them (K7). It returns those that it took. Preconditions: no transaction is about to commit them.
func (c *Catalog) Abandon(ctx context.Context, region memregion.RegionID, ids []ExtentID) ([]ExtentID, error) {
	if err := c.barrier(ctx); err != nil {
		return nil, err
	}
	living, complete := c.living(region)
	if !complete {
		return nil, nil
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id ExtentID) bool { return living[id] })
	c.mu.Lock()
	r := &releases{retired: slices.Clone(ids), diedAt: c.mu.current.contents.revision}
	c.mu.Unlock()
	c.carryOut(r)
	return ids, nil
}

// horizon is the oldest revision that another node may read, and the one from which on it may read all. Requires mu.
func (c *Catalog) horizon() (oldest, floor Revision) {
	oldest, floor = math.MaxInt64, math.MaxInt64
	for m := range c.others() {
		oldest, floor = min(oldest, m.Oldest), min(floor, m.reads.Floor)
	}
	return oldest, floor
}

// others are the other nodes. Requires mu.
func (c *Catalog) others() iter.Seq[*Member] {
	return func(yield func(*Member) bool) {
		for name, m := range c.mu.members {
			if c.shared() && name != c.options.Self.Name && !yield(m) {
				return
			}
		}
	}
}

// holdRead takes notice of what the other nodes hold. Requires mu.
func (c *Catalog) holdRead() {
	var held []Revision
	for m := range c.others() {
		held = append(held, m.reads.All()...)
	}
	c.mu.history.Hold(held)
}

// lends reports whether a region is this node's. Requires mu.
func (c *Catalog) lends(region memregion.RegionID) bool {
	if !c.shared() {
		return true
	}
	record := c.mu.regions[region]
	return record != nil && record.Node == c.options.Self.Name
}

// retire retires at the lender what no node reads any more. Each node does it for its own regions.
func (c *Catalog) retire() {
	c.retiring.Lock()
	defer c.retiring.Unlock()
	c.mu.Lock()
	_, floor := c.horizon()
	due := c.mu.postponed.Due(c.mu.history, floor, c.lends)
	c.mu.Unlock()
	if len(due) == 0 {
		return
	}
	c.options.Fault.At(faults.Retiring)
	if err := c.lender.Retire(due...); err != nil { // of all or nothing: one that is refused must not keep the others
		for _, id := range due {
			c.log("retire a chunk", c.lender.Retire(id))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.postponed.Remove(due)
}

// presence is what this node reports to the others. Requires mu.
func (c *Catalog) presence() record.Presence {
	p := record.Presence{State: uint64(c.mu.state)}
	snapshots := make([]Revision, 0, len(c.mu.leases))
	for _, m := range c.mu.members {
		p.Seen = max(p.Seen, m.Registered)
	}
	for _, l := range c.mu.leases {
		snapshots = append(snapshots, l.state.contents.revision)
		if l.doomed > 0 {
			p.Seen = min(p.Seen, l.doomed-1)
		}
	}
	p.Reads = horizon.Of(c.mu.current.contents.revision, snapshots)
	return p
}

func (c *Catalog) reportSoon() {
	select {
	case c.reports <- struct{}{}:
	default: // it is going to look anyway
	}
}

// report shows the others what this node still reads, soon after it changed, until ctx is done or the node is fenced.
func (c *Catalog) report(ctx context.Context) error {
	for {
		switch _, err := c.reportPresence(ctx); {
		case isConflict(err):
			return fmt.Errorf("%w: another process took the name %q over", ErrFenced, c.options.Self.Name)
		case err != nil && ctx.Err() == nil:
			c.log("tell the other nodes what this one reads", err)
		}
		c.settleSoon(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.store.Session().Done():
			return fmt.Errorf("%w: %w", ErrFenced, store.ErrSessionOver)
		case <-c.reports:
		case <-time.After(record.PresenceInterval(c.options.ReportInterval, len(c.Members()))):
		}
	}
}

// reportPresence puts the presence on record if it has changed, and returns the revision from which on it is there.
// One at a time: what is reported later was true later.
func (c *Catalog) reportPresence(ctx context.Context) (Revision, error) {
	c.reporting.Lock()
	defer c.reporting.Unlock()
	c.mu.Lock()
	p := c.presence()
	c.mu.Unlock()
	if p == c.reporting.reported {
		return c.reporting.since, nil
	}
	name := c.options.Self.Name
	revision, err := c.store.Commit(ctx, store.Transaction{
		Compares: []store.Compare{unchanged(keys.Node(name), c.registered)},
		Puts:     []store.Item{{Key: keys.Presence(name), Value: p.Encode(), Ephemeral: true}},
	})
	if err == nil {
		c.reporting.reported, c.reporting.since = p, revision
	}
	return revision, err
}
