package lending

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Journal remembers, for the node's next process, which extents others may be storing into: a borrower does not notice
// at once that its lender was killed, and goes on. The next process must keep those extents out of its allocator until
// the borrower has given them back or has ended (W3).
//
// It is a file of one line per event, written with one system call before an extent is handed over. Grants to other
// machines are synced: those store on when this one is switched off, and find the memory where it was, on a device that
// several machines share. A borrower on this machine does not survive it. A nil Journal does nothing.
type Journal struct {
	path    string
	boot    string               // of this machine; immutable
	sync    func(*os.File) error // (*os.File).Sync, except in tests; immutable
	orphans []Orphan             // of the former process; immutable

	mu    sync.Mutex
	file  *os.File                     // guarded by mu
	live  map[catalog.ExtentID]*Orphan // guarded by mu: what the file says is outstanding
	lines int                          // guarded by mu: in the file
}

// Orphan is an extent that was granted by the node's former process.
type Orphan struct {
	Extent   catalog.ExtentID
	Range    memregion.Range
	Borrower Borrower
	Process  noderpc.Process
	// Ticket is the borrower's name for it, if it has not heard of any other.
	Ticket noderpc.Ticket `json:",omitempty"`
	// Node and Registered are the borrower's, as Options.NodeOf had them.
	Node       string           `json:",omitempty"`
	Registered catalog.Revision `json:",omitempty"`
	// Boot is that of the lender's machine when it granted the extent. A Process of another one is on another machine,
	// which goes on when this one boots.
	Boot string `json:",omitempty"`
	// Cached: caches are not coherent, and those of the borrower's Machine may hold what it stored when its process has
	// ended, too. Its Principal may say that they do not any more.
	Cached    bool             `json:",omitempty"`
	Machine   coherence.Domain `json:",omitempty"`
	Principal string           `json:",omitempty"`
}

// over reports whether nothing of its writer can reach the extent any more.
func (o *Orphan) over() bool { return !o.Cached && o.Process.Gone() }

func (o *Orphan) member() noderpc.Membership {
	return noderpc.Membership{Node: o.Node, Registered: o.Registered}
}

// local reports whether the writer is on the machine of the lender that granted the extent.
func (o *Orphan) local() bool { return o.Boot != "" && o.Process.Boot == o.Boot }

// OrphanOwner is the owner under which orphans are to be adopted (memregion.Adopt).
const OrphanOwner = "orphan"

// entry is a line: a grant if Orphan is set, otherwise the end of one.
type entry struct {
	Ended  *catalog.ExtentID `json:",omitempty"`
	Orphan *Orphan           `json:",omitempty"`
}

const (
	// compactLines is how long the file may get, beyond twice what is outstanding.
	compactLines = 8192
	// maxLineBytes bounds a line: names are bounded.
	maxLineBytes = 8192
)

// OpenJournal reads the journal, or begins one. published reports whether the catalog has an extent: such an extent has
// no writer. Orphans whose writers have ended are dropped here; for all others the caller adopts their ranges (Owned)
// before anything is allocated.
func OpenJournal(path string, published func(catalog.ExtentID) bool) (*Journal, error) {
	live, err := readJournal(path)
	if err != nil {
		return nil, err
	}
	boot, err := memregion.BootID()
	if err != nil {
		return nil, fmt.Errorf("lending: open %s: %w", path, err)
	}
	for id, o := range live {
		// What ran on this machine before it booted has ended, and its caches are empty. Another machine's process may
		// store on (W3).
		if published(id) || o.local() && o.Boot != boot || o.over() {
			delete(live, id)
		}
	}
	j := &Journal{path: path, boot: boot, sync: (*os.File).Sync, live: live}
	for _, o := range live {
		j.orphans = append(j.orphans, *o)
	}
	slices.SortFunc(j.orphans, func(a, b Orphan) int {
		return cmp.Or(cmp.Compare(a.Extent.Region, b.Extent.Region), cmp.Compare(a.Range.Offset, b.Range.Offset))
	})
	return j, j.rewrite()
}

// Orphans are those of the node's former process.
func (j *Journal) Orphans() []Orphan {
	if j == nil {
		return nil
	}
	return j.orphans
}

// Owned lists the orphans of a region by address, for memregion.Adopt.
func (j *Journal) Owned(region memregion.RegionID) (list []memregion.Owned) {
	for _, o := range j.Orphans() {
		if o.Extent.Region == region {
			list = append(list, memregion.Owned{Owner: OrphanOwner, Range: o.Range})
		}
	}
	return list
}

// Close closes the file.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.Close()
}

func readJournal(path string) (map[catalog.ExtentID]*Orphan, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[catalog.ExtentID]*Orphan{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lending: open the journal: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	live, err := decodeJournal(file)
	if err != nil {
		return nil, fmt.Errorf("lending: %s: %w", path, err)
	}
	return live, nil
}

// decodeJournal returns what is outstanding. Ranges that no region can have are an error.
func decodeJournal(r io.Reader) (map[catalog.ExtentID]*Orphan, error) {
	live := map[catalog.ExtentID]*Orphan{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, maxLineBytes), maxLineBytes)
	var damaged error
	for number := 1; lines.Scan(); number++ {
		if damaged != nil {
			return nil, damaged // it was not the last line
		}
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || !e.sane() {
			damaged = fmt.Errorf("line %d is damaged: remove the file if no process that used the former node runs any more", number)
			continue // a last line that was not written whole was not handed over either
		}
		if e.Orphan != nil {
			live[e.Orphan.Extent] = e.Orphan
		} else {
			delete(live, *e.Ended)
		}
	}
	return live, lines.Err()
}

func (e *entry) sane() bool {
	if e.Orphan == nil {
		return e.Ended != nil
	}
	r := e.Orphan.Range
	return e.Ended == nil && r.Offset >= 0 && r.Offset%memregion.PageSize == 0 && r.Length%memregion.PageSize == 0 && r.End() > r.Offset
}

// rewrite replaces the file by one with nothing but what is outstanding. Requires mu, or that j is not shared yet.
func (j *Journal) rewrite() error {
	next := j.path + ".new"
	file, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("lending: write the journal: %w", err)
	}
	out := bufio.NewWriter(file)
	for _, o := range j.live {
		if err = json.NewEncoder(out).Encode(entry{Orphan: o}); err != nil {
			break
		}
	}
	if err = errors.Join(err, out.Flush()); err == nil && j.elsewhere() {
		err = j.sync(file)
	}
	if err == nil {
		err = os.Rename(next, j.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("lending: write the journal: %w", err), file.Close())
	}
	if j.file != nil {
		_ = j.file.Close() // it has no name any more
	}
	j.file, j.lines = file, len(j.live)
	return nil
}

// elsewhere reports whether other machines may store into something. Requires mu, as rewrite does.
func (j *Journal) elsewhere() bool {
	for _, o := range j.live {
		if !o.local() {
			return true
		}
	}
	return false
}

// granted is called before an extent is handed over.
func (j *Journal) granted(id catalog.ExtentID, r memregion.Range, g *grant, class coherence.Class) error {
	if j == nil {
		return nil
	}
	a := g.account
	o := &Orphan{Extent: id, Range: r, Borrower: a.Borrower, Process: a.process, Ticket: g.ticket, Node: a.member.Node, Registered: a.member.Registered, Boot: j.boot}
	if class != coherence.Coherent {
		o.Cached, o.Machine, o.Principal = true, a.machine, a.peer.Principal()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.append(entry{Orphan: o}); err != nil {
		return err
	}
	j.live[id] = o
	if o.local() {
		return nil
	}
	if err := j.sync(j.file); err != nil {
		delete(j.live, id)
		return errors.Join(fmt.Errorf("lending: sync the journal: %w", err), j.append(entry{Ended: &id}))
	}
	return nil
}

// ended is called when no process may store into an extent any more.
func (j *Journal) ended(id catalog.ExtentID) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.live[id] == nil {
		return nil
	}
	delete(j.live, id)
	if j.lines > compactLines && j.lines > 2*len(j.live) {
		return j.rewrite()
	}
	return j.append(entry{Ended: &id})
}

// append requires mu. One call of write is whole or not at all, as far as the death of this process is concerned.
func (j *Journal) append(e entry) error {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("lending: write the journal: %w", err)
	}
	j.lines++
	return nil
}
