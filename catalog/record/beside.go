package record

import (
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/horizon"
	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/catalog/store"
)

// Field numbers of catalog.proto.
const (
	formatNumber, formatIdentity, formatCreated                              = 1, 2, 3
	counterNext                                                              = 1
	nameKind, nameID                                                         = 1, 2
	presenceOldest, presenceSeen, presenceState, presenceFloor, presenceHeld = 1, 2, 3, 4, 5
)

// The kinds in a name's record.
const (
	KindTable = 1
	KindView  = 2
	KindType  = 3
)

// EncodeName writes the record of a name: what has it.
func EncodeName(kind uint64, id hugetable.TableID) []byte {
	w := message.Writer{}
	w.Uint(nameKind, kind)
	w.Uint(nameID, uint64(id))
	return w.Buf
}

// EncodeNext writes the record of identities: the first unused one.
func EncodeNext(next uint64) []byte {
	w := message.Writer{}
	w.Uint(counterNext, next)
	return w.Buf
}

// DecodeNext is the inverse of EncodeNext.
func DecodeNext(data []byte) (next uint64, err error) {
	r := message.NewReader(data)
	for r.Next() {
		if r.Field() == counterNext {
			next = r.Uint()
		} else {
			r.Skip()
		}
	}
	return next, r.Err()
}

// EncodeFormat writes the record of a catalog: in which format it is, and which one it is.
func EncodeFormat(format uint64, identity string, created time.Time) []byte {
	w := message.Writer{}
	w.Uint(formatNumber, format)
	w.String(formatIdentity, identity)
	w.Int(formatCreated, created.UnixMicro())
	return w.Buf
}

// DecodeFormat is the inverse of EncodeFormat.
func DecodeFormat(data []byte) (format uint64, identity string, created time.Time, err error) {
	r := message.NewReader(data)
	for r.Next() {
		switch r.Field() {
		case formatNumber:
			format = r.Uint()
		case formatIdentity:
			identity = r.String()
		case formatCreated:
			created = time.UnixMicro(r.Int())
		default:
			r.Skip()
		}
	}
	return format, identity, created, r.Err()
}

// Presence is what changes of a node while it lives.
type Presence struct {
	Reads horizon.Reads
	Seen  store.Revision
	State uint64
}

// Encode writes the record.
func (p Presence) Encode() []byte {
	w := message.Writer{}
	w.Int(presenceOldest, int64(p.Reads.Oldest()))
	w.Int(presenceSeen, int64(p.Seen))
	w.Uint(presenceState, p.State)
	w.Int(presenceFloor, int64(p.Reads.Floor))
	for _, at := range p.Reads.All() {
		w.Int(presenceHeld, int64(at))
	}
	return w.Buf
}

// fewNodes is up to how many nodes a cluster has in which each reports its presence as often as it may.
const fewNodes = 4

// PresenceInterval is how long a node waits between reports of its presence, if shortest is how long it may. Every node
// hears of every report: so that a node of many does not hear of more than one of few, each reports less often.
func PresenceInterval(shortest time.Duration, nodes int) time.Duration {
	return shortest * time.Duration(max(nodes, fewNodes)) / fewNodes
}

// DecodePresence is the inverse of Encode.
func DecodePresence(data []byte) (p Presence, err error) {
	held := 0
	r := message.NewReader(data)
	for r.Next() {
		switch r.Field() {
		case presenceOldest:
			r.Int() // what is held and the floor say more
		case presenceSeen:
			p.Seen = store.Revision(r.Int())
		case presenceState:
			p.State = r.Uint()
		case presenceFloor:
			p.Reads.Floor = store.Revision(r.Int())
		case presenceHeld:
			if held == horizon.HeldMost {
				return p, fmt.Errorf("more than %d revisions are held", horizon.HeldMost)
			}
			p.Reads.Held[held] = store.Revision(r.Int())
			held++
		default:
			r.Skip()
		}
	}
	return p, r.Err()
}
