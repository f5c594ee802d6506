package hugetable

import (
	"fmt"
	"runtime"
	"time"
	"weak"

	"github.com/csmsql/csmsql/catalog/internal/message"
)

// Former versions of a table that are kept: the table's retention, and what versions record of their contents for it.

// Retention says which former versions of a table are kept. The zero value: none.
type Retention struct {
	// Age is how long one is kept after another took its place; 0: for ever.
	Age time.Duration
	// Versions is how many are kept at most; 0: none.
	Versions int
}

// Keeps reports whether any is kept.
func (r Retention) Keeps() bool { return r.Versions > 0 }

// contents is the origin of a version's contents: the version that they came by, its time and its cause. It is unknown
// for a table that keeps no versions.
type contents struct {
	since uint64
	at    int64 // microseconds
	cause string
}

// The causes of contents.
const (
	causeCreate, causeAppend, causeDelete, causeUpdate = "create", "append", "delete", "update"
	causeReplace, causeTruncate, causeAlter            = "replace", "truncate", "alter"
	causeRestore                                       = "restore"
)

// SinceNumber is the number of the first version that had these rows and columns; 0: it is not known.
func (v *Version) SinceNumber() uint64 { return v.contents.since }

// CommittedAt is when the rows and columns became what they are; the zero time: it is not known.
func (v *Version) CommittedAt() time.Time {
	if v.contents.at == 0 {
		return time.Time{}
	}
	return time.UnixMicro(v.contents.at).UTC()
}

// Cause says what made the rows and columns what they are: create, append, delete, update, replace, truncate, alter or
// restore; empty: it is not known.
func (v *Version) Cause() string { return v.contents.cause }

// Restored reports whether the contents are an earlier version's that were restored.
func (v *Version) Restored() bool { return v.contents.cause == causeRestore }

// SameContents reports whether two committed versions of a table have the same rows under the same columns, wherever
// they lie. Placement and name are not compared.
func (v *Version) SameContents(other *Version) bool {
	return v.changed == other.changed && v.table.Columns.Equal(other.table.Columns) &&
		v.table.Columns.Metadata().Equal(other.table.Columns.Metadata())
}

// causeOf is what a transaction did to get a version that is not sealed; before is nil for a new table.
func (v *Version) causeOf(before *Version) string {
	switch {
	case before == nil:
		return causeCreate
	case v.restored:
		return causeRestore
	case v.truncated && len(v.tail) > 0:
		return causeReplace
	case v.truncated:
		return causeTruncate
	case len(v.dead) > 0 && len(v.tail) > 0:
		return causeUpdate
	case len(v.dead) > 0:
		return causeDelete
	case len(v.tail) > 0:
		return causeAppend
	}
	return causeAlter
}

// Dated returns a sealed version of a table that keeps versions with the origin of its contents: made, which was sealed
// at now, or that of the version before if it has the same contents. kept reports whether the version before is dated,
// and has others.
func (v *Version) Dated(made, before *Version, now time.Time) (dated *Version, kept bool) {
	next := *v
	same := before != nil && before.SameContents(v)
	if same && before.contents.since > 0 {
		next.contents = before.contents
		return &next, false
	}
	at := now.UnixMicro()
	if before != nil { // clocks differ, and go back: the order of versions is that of their times
		at = max(at, before.contents.at+1)
	}
	next.contents = contents{since: v.number, at: at}
	if !same {
		next.contents.cause = made.causeOf(before)
	}
	return &next, !same && before != nil && before.contents.since > 0
}

// Retain returns the version with another retention on record.
func (v *Version) Retain(r Retention) *Version {
	next := *v
	next.table.Retention = r
	if !r.Keeps() {
		next.contents = contents{}
	}
	return &next
}

// Restore returns the version with the rows and the columns of an earlier one of the table, whose pages it shares.
// Numbers of columns that came since are not given again.
func (v *Version) Restore(earlier *Version) (*Version, error) {
	if earlier.table.ID != v.table.ID || !earlier.committed() {
		return nil, fmt.Errorf("%w: table %v is not restored to a version of %v", ErrMismatch, v.table.Name,
			earlier.table.Name)
	}
	was, err := numbersOf(earlier.table.Columns)
	if err != nil {
		return nil, err
	}
	is, err := numbersOf(v.table.Columns)
	if err != nil {
		return nil, err
	}
	next := *earlier
	next.table, next.number, next.contents = v.table, v.number, v.contents
	next.table.Columns = earlier.table.Columns
	if is.next > was.next {
		was.next = is.next
		next.table.Columns = was.mark(earlier.table.Columns.Fields(), earlier.table.Columns.Metadata())
	}
	if next.display, err = displayOf(next.table.Columns); err != nil {
		return nil, err
	}
	next.numbering, next.purges = max(v.numbering, earlier.numbering)+1, nil
	next.ordered = v.ordered || earlier.ordered
	next.truncated, next.restored = true, true
	return &next, nil
}

// aliasBit is set in the identities of aliases, which no table has.
const aliasBit = 1 << 62

// Unaliased is the identity of the table itself, of whose alias it may be.
func (id TableID) Unaliased() TableID { return id &^ aliasBit }

// Alias is a committed version under another name: what a statement sees beside the table itself. Its rows lie where
// they lie, and not as a placement says. Of one version under one name there is one, for as long as it is referenced.
func (v *Version) Alias(name TableName) *Version {
	s := v.source
	key := aliasKey{weak.Make(v), name}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.aliases[key].Value(); known != nil {
		return known
	}
	next := new(Version)
	*next = *v
	next.table.Name, next.table.Placement = name, ""
	next.table.ID |= aliasBit
	if s.aliases == nil {
		s.aliases = map[aliasKey]weak.Pointer[Version]{}
	}
	s.aliases[key] = weak.Make(next)
	runtime.AddCleanup(next, s.forgetAlias, key)
	return next
}

// forgetAlias is called when an alias is unreferenced; another one may be in its place by then.
func (s *Source) forgetAlias(key aliasKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aliases[key].Value() == nil {
		delete(s.aliases, key)
	}
}

// aliasKey names an alias.
type aliasKey struct {
	of   weak.Pointer[Version]
	name TableName
}

// Field numbers of Kept in catalog.proto.
const keptRecord, keptUntil = 1, 2

// EncodeKept writes the record of a former version that is kept, in whose place another one came at a time.
func (v *Version) EncodeKept(until time.Time) ([]byte, error) {
	record, err := v.Encode()
	if err != nil {
		return nil, err
	}
	w := message.Writer{}
	w.Bytes(keptRecord, v.stored(record))
	w.Int(keptUntil, until.UnixMicro())
	return w.Buf, nil
}

// SplitKept gives what EncodeKept wrote: a version's record, and until when it was the present one.
func SplitKept(data []byte) (record []byte, until time.Time, err error) {
	r := message.NewReader(data)
	for r.Next() {
		switch r.Field() {
		case keptRecord:
			record = r.Bytes()
		case keptUntil:
			until = time.UnixMicro(r.Int()).UTC()
		default:
			r.Skip()
		}
	}
	if err := r.Err(); err != nil {
		return nil, until, fmt.Errorf("%w: record of a kept version: %w", ErrCorrupt, err)
	}
	return record, until, nil
}

// DecodeKept is the inverse of EncodeKept.
func DecodeKept(data []byte, source *Source) (v *Version, until time.Time, err error) {
	record, until, err := SplitKept(data)
	if err != nil {
		return nil, until, err
	}
	v, err = Decode(record, source)
	return v, until, err
}
