package thesis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Cleaned is what a lender has done, and has still to do, of its flushes ahead of grants (coherence.Home.CleanAhead).
type Cleaned struct {
	Left   int64 // bytes
	Worked time.Duration
}

// lender has one region's memory under several homes, one for each class of fabric and, where this process writes
// itself, each write path. They share the allocator, so their extents never overlap; each has a region number of its
// own.
type lender struct {
	memory *memregion.Lent
	homes  catalog.Homes
	count  coherence.Counters // of the home of incoherent memory of class
}

func (l *lender) cleaned() Cleaned {
	return Cleaned{Left: l.memory.ToDrop(), Worked: time.Duration(l.count.AheadTime.Load())}
}

// Homes by number: 1 to 3 are the classes, those from firstPath on are incoherent with a path that is fixed.
const firstPath memregion.RegionID = 16

func homeOf(class coherence.Class) memregion.RegionID { return 1 + memregion.RegionID(class) }

func homeOfPath(p coherence.Path) memregion.RegionID { return firstPath + memregion.RegionID(p) }

var errChecksum = fmt.Errorf("bench: %w", coherence.ErrChecksum)

// lend makes a region of capacity bytes, a file in directory. close removes it.
func lend(ctx context.Context, directory, name string, capacity int64,
	lines *coherence.CPULines) (_ *lender, err error) {
	capacity = (capacity + memregion.PageSize - 1) / memregion.PageSize * memregion.PageSize
	spec := memregion.Spec{ID: 1, Capacity: capacity, Fabric: memregion.FabricShm, Path: filepath.Join(directory, name)}
	if spec.Base, err = memregion.ChooseBase(nil, capacity, spec.Path); err != nil {
		return nil, err
	}
	if spec.BootID, err = memregion.BootID(); err != nil {
		return nil, err
	}
	l := &lender{homes: catalog.Homes{}}
	if l.memory, err = memregion.Lend(ctx, spec, memregion.LendOptions{RecycleLimit: capacity}); err != nil {
		return nil, err
	}
	for _, class := range []coherence.Class{coherence.Coherent, coherence.Incoherent, coherence.IncoherentHomeSnoop} {
		if err := l.add(homeOf(class), class, lines, nil); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	for _, copier := range copiers(lines) {
		if err := l.add(homeOfPath(copier.Path()), coherence.Incoherent, lines, coherence.Always(copier)); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	return l, nil
}

// copiers are those that this processor has.
func copiers(lines *coherence.CPULines) (list []*coherence.Copier) {
	for _, p := range coherence.Paths() {
		if c, err := lines.Copier(p); err == nil {
			list = append(list, c)
		}
	}
	return list
}

func (l *lender) add(id memregion.RegionID, class coherence.Class, lines *coherence.CPULines,
	chooser *coherence.Chooser) (err error) {
	count := &coherence.Counters{}
	if id == homeOf(coherence.Incoherent) {
		count = &l.count
	}
	l.homes[id], err = coherence.NewHome(coherence.HomeConfig{
		Counters: count,
		Region:   id, Memory: l.memory, Lines: lines, Domain: "home", Class: class, Capacity: l.memory.Spec().Capacity, Chooser: chooser,
		Verify: func(data []byte, s coherence.Seal) error {
			if xxh3.Hash(data[:s.Length]) != s.Checksum {
				return errChecksum
			}
			return nil
		},
	})
	return err
}

func (l *lender) close() error { return l.memory.Remove() }

// Lent is how another process reaches a lender.
type Lent struct {
	Socket string // node RPC
	Spec   memregion.Spec
}

// Request is for an extent of its coherent memory.
func (Lent) Request(size int64) noderpc.GrantRequest {
	return grantOf(homeOf(coherence.Coherent), size)
}

func grantOf(region memregion.RegionID, size int64) noderpc.GrantRequest {
	return noderpc.GrantRequest{Region: region, Owner: "bench", Size: size, Ticket: noderpc.NewTicket(), Domain: "bench"}
}

// memoryNode is a node of which only the memory matters.
type memoryNode struct{ noderpc.Node }

// Serve lends capacity bytes until ctx ends: the role of the other process. ready is called with how it is reached, and
// with a function that returns what it has cleaned. Its files lie in directory and are removed.
func Serve(ctx context.Context, directory string, capacity int64, ready func(Lent, func() Cleaned) error) (err error) {
	lines, err := coherence.NewCPULines()
	if err != nil {
		return err
	}
	l, err := lend(ctx, directory, "remote.region", capacity, lines)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	log := slog.New(slog.DiscardHandler)
	// What is sealed is compared by the process that measures, and by the home where the protocol requires it: not a
	// second time in between.
	lender, err := lending.New(l.homes, lending.Options{Lines: lines, TrustSeals: true, Log: log})
	if err != nil {
		return err
	}
	reach := Lent{Socket: filepath.Join(directory, "lender.sock"), Spec: l.memory.Spec()}
	listener, err := noderpc.ListenUnix(reach.Socket)
	if err != nil {
		return err
	}
	server := noderpc.NewServer(memoryNode{}, noderpc.ServerOptions{Name: "lender", Lender: lender, Log: log})
	if err := ready(reach, l.cleaned); err != nil {
		return errors.Join(err, listener.Close())
	}
	var group errgroup.Group
	cleaning, stop := context.WithCancel(ctx)
	group.Go(func() error { return l.homes[homeOf(coherence.Incoherent)].CleanAhead(cleaning) })
	err = server.Serve(ctx, listener)
	stop()
	return errors.Join(err, group.Wait())
}
