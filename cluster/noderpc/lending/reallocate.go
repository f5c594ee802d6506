package lending

import (
	"context"
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// Reallocate implements noderpc.Lender: a new extent, the content copied here. The lender copies because its memory is
// next to it (thesis §3.8.1). The old extent stays the borrower's until it frees it: if the answer is lost, the
// borrower still writes there, and gives the new one back by its ticket.
func (l *Lender) Reallocate(ctx context.Context, peer noderpc.Peer,
	request noderpc.ReallocateRequest) (moved noderpc.Granted, err error) {
	list, err := l.take(ctx, peer, "reallocate", []catalog.ExtentID{request.Extent}, granted)
	if err != nil {
		return noderpc.Granted{}, err
	}
	err = l.during(list, func() error {
		moved, err = l.move(ctx, peer, list[0], request)
		return err
	}, func(*ledger, error) {})
	return moved, err
}

// move leaves the old extent as it is.
func (l *Lender) move(ctx context.Context, peer noderpc.Peer, old *grant,
	request noderpc.ReallocateRequest) (noderpc.Granted, error) {
	home := l.homes[request.Extent.Region]
	view := home.Generation(request.Extent.Generation)
	if request.Size <= view.Range.Length || request.Used > view.Range.Length {
		return noderpc.Granted{}, &noderpc.Error{
			State: "22023", Message: fmt.Sprintf("reallocate %v: it has %d bytes; %d, of which %d are copied, is no longer extent",
				request.Extent, view.Range.Length, request.Size, request.Used),
		}
	}
	l.mu.Lock()
	g, refusal := l.mu.ledger.request(old.account, request.Ticket, request.Size)
	l.mu.Unlock()
	if refusal != nil {
		return noderpc.Granted{}, l.refuse(ctx, peer, "reallocate", refusal)
	}
	g.holder = old.holder
	granted, err := l.grant(ctx, home, g, view.Owner, request.Size)
	if err != nil {
		return noderpc.Granted{}, err
	}
	if err := l.copy(home, view.Range, granted.Range, request.Used); err != nil {
		l.log("a reallocation that failed", l.Free(context.WithoutCancel(ctx), peer, noderpc.FreeRequest{Extents: []catalog.ExtentID{granted.Extent}, Settling: true}))
		return noderpc.Granted{}, err
	}
	l.options.Fault.At(faults.LendMoved)
	return granted, nil
}

// copy works in the lender's own map. Where caches are not coherent the lender's may hold old lines of the source,
// which the borrower has written back to memory, and must not keep new ones of the target, which the borrower will
// write (C3).
func (l *Lender) copy(home *coherence.Home, from, to memregion.Range, used int64) error {
	if used == 0 {
		return nil
	}
	from.Length, to.Length = used, used
	source, target := home.Bytes(from), home.Bytes(to)
	pays := home.Class() != coherence.Coherent
	if pays {
		flush(l.options.Lines, source)
	}
	home.Touch(to) // the next writer's grant does not rely on what follows
	if err := memregion.Guarded(func() { copy(target, source) }); err != nil {
		return fmt.Errorf("reallocate: %w", err)
	}
	if pays {
		flush(l.options.Lines, target)
	}
	l.count.movedBytes.Add(uint64(used))
	return nil
}

func flush(lines coherence.Lines, b []byte) {
	lines.FenceFull()
	lines.Flush(b)
	lines.FenceFull()
}
