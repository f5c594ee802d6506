package noderpc_test

import (
	"context"
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// fakeLender grants the next pages and remembers what it was asked. Functions replace what it does.
type fakeLender struct {
	grant func(context.Context, noderpc.GrantRequest) (noderpc.Granted, error)

	mu    sync.Mutex
	next  coherence.Generation
	calls []any
	peers []noderpc.Peer
}

func (l *fakeLender) note(p noderpc.Peer, call any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls, l.peers = append(l.calls, call), append(l.peers, p)
}

func (l *fakeLender) heard() []any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

func (l *fakeLender) Grant(ctx context.Context, p noderpc.Peer, r noderpc.GrantRequest) (noderpc.Granted, error) {
	l.note(p, r)
	if l.grant != nil {
		return l.grant(ctx, r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	size := (r.Size + memregion.PageSize - 1) / memregion.PageSize * memregion.PageSize
	return noderpc.Granted{
		Extent: catalog.ExtentID{Region: r.Region, Generation: l.next}, Range: memregion.Range{Offset: int64(l.next) << 20, Length: size},
		Class: coherence.IncoherentHomeSnoop,
	}, nil
}

func (l *fakeLender) Reallocate(ctx context.Context, p noderpc.Peer, r noderpc.ReallocateRequest) (noderpc.Granted, error) {
	l.note(p, r)
	return noderpc.Granted{Extent: catalog.ExtentID{Region: r.Extent.Region, Generation: 1000}, Range: memregion.Range{Length: 1 << 30}}, nil
}

func (l *fakeLender) Seal(_ context.Context, p noderpc.Peer, r noderpc.SealRequest) error {
	l.note(p, r)
	return nil
}

func (l *fakeLender) Publish(_ context.Context, p noderpc.Peer, r noderpc.PublishRequest) error {
	l.note(p, r)
	return nil
}

func (l *fakeLender) Free(_ context.Context, p noderpc.Peer, r noderpc.FreeRequest) error {
	l.note(p, r)
	return nil
}

func (l *fakeLender) Pin(_ context.Context, p noderpc.Peer, ids []catalog.ExtentID) error {
	l.note(p, ids)
	return nil
}

func (l *fakeLender) Unpin(_ context.Context, p noderpc.Peer, ids []catalog.ExtentID) error {
	l.note(p, ids)
	return nil
}

func (l *fakeLender) Left(_ context.Context, p noderpc.Peer, r noderpc.LeftRequest) ([]noderpc.LeftExtent, error) {
	l.note(p, r)
	return []noderpc.LeftExtent{{Generation: 5, Range: memregion.Range{Offset: 4096, Length: 8192}}}, nil
}

func (l *fakeLender) Held(_ context.Context, p noderpc.Peer, r noderpc.HeldRequest) ([]noderpc.LeftExtent, error) {
	l.note(p, r)
	return []noderpc.LeftExtent{{Generation: 1 << 63, Range: memregion.Range{Length: 4096}}}, nil
}
