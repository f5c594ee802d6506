package upkeep

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/placement/replicas"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// replicasMax is how many replicas of a chunk one may ask for; nodes that are gone may hold some beside.
const replicasMax = replicas.Most / 2

var _ [descriptor.MaxReplicas]struct{} = [replicas.Most]struct{}{}

// ReplicasIn reads how many replicas are asked for; 0: the text says nothing.
func ReplicasIn(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	k, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0, sqlerror.New("22023", "replicas = %s: it takes a number from 1 to %d", text, replicasMax)
	}
	return k, CheckReplicas(k)
}

func CheckReplicas(k int) error {
	if k < 1 || k > replicasMax {
		return sqlerror.New("22023", "replicas = %d: it takes a number from 1 to %d, the first one included", k, replicasMax)
	}
	return nil
}

// ResolveReplicas checks how many replicas a user wants and gives what goes on record. 0 is what was not said.
func (k *Keeper) ResolveReplicas(many int) (int, error) {
	if many == 0 {
		return 0, nil
	}
	if err := CheckReplicas(many); err != nil || many == 1 {
		return 0, err
	}
	if k.node == nil || k.node.Self == nil {
		return 0, sqlerror.New("55000", "replicas = %d: this node is alone, it belongs to no cluster", many).
			WithHint("Leave the replicas out, or start the node with --cluster-init or --etcd.")
	}
	return many, k.node.CanReplicate(many, k.node.Online())
}

// Replicator makes the replicas of new chunks; nil: one is enough.
func (k *Keeper) Replicator(table catalog.Table,
	p placement.Placement) (func(context.Context, *catalog.Chunk) (*catalog.Chunk, error), error) {
	if table.Replicas <= 1 || k.node.Self == nil {
		return nil, nil
	}
	online := k.node.Online()
	if err := k.node.CanReplicate(table.Replicas, online); err != nil {
		return nil, err
	}
	name, since := table.Name.String(), k.catalog.Revision()
	trust := func(regions ...memregion.RegionID) error { return k.catalog.Trust(since, regions...) }
	return func(ctx context.Context, c *catalog.Chunk) (*catalog.Chunk, error) {
		if len(c.Extents()) == 0 {
			return c, nil
		}
		first := k.reader.NodeOf(c.Descriptor())
		to := []replicas.Place{{Node: first}}
		for _, node := range replicas.Behind(p, online, first)[:table.Replicas-1] {
			to = append(to, replicas.Place{Node: node, Have: -1})
		}
		k.fault.At(faults.ReplicaBegin)
		by := k.reader.Readings(k.reader.Verification())
		made, err := k.rearranged(ctx, by, name, 0, c, to)
		return made, reader.OfAnother(err, by, trust)
	}, nil
}

// rearranged gives a chunk whose replicas lie where they are wanted. On error nothing is held for it.
func (k *Keeper) rearranged(ctx context.Context, by *reader.Readings, table string, number int, c *catalog.Chunk,
	to []replicas.Place) (*catalog.Chunk, error) {
	return k.laid(c, to, func(node string) ([]descriptor.Extent, error) { return k.copyReplica(ctx, by, table, number, c, node) })
}

// laid is rearranged with replicas that are made somehow.
func (k *Keeper) laid(c *catalog.Chunk, to []replicas.Place,
	replica func(node string) ([]descriptor.Extent, error)) (*catalog.Chunk, error) {
	all := make([][]descriptor.Extent, len(to))
	var made []catalog.ExtentID
	var err error
	for i, p := range to {
		if p.Have >= 0 {
			all[i] = c.Descriptor().ExtentsOf(p.Have)
			continue
		}
		if all[i], err = replica(p.Node); err != nil {
			break
		}
		k.fault.At(faults.ReplicaCopied)
		for _, x := range all[i] {
			made = append(made, x.ExtentID)
		}
	}
	var next *catalog.Chunk
	if err == nil {
		next, err = c.In(all...)
	}
	if err != nil && len(made) > 0 {
		err = errors.Join(err, k.node.Lender.Discard(made...))
	}
	return next, err
}

// copyReplica copies one into another node's memory, from whichever can be read.
func (k *Keeper) copyReplica(ctx context.Context, by *reader.Readings, table string, number int, c *catalog.Chunk,
	to string) (made []descriptor.Extent, err error) {
	space, err := k.node.SpaceOf(ctx, to)
	if err != nil {
		return nil, err
	}
	err = k.reader.ReadReplica(ctx, by, table, number, c, func(d *descriptor.Descriptor) (failed, other error) {
		made, other = catalog.CopyChunk(space, d, func(x *descriptor.Extent) ([]byte, error) { return k.reader.Resolve(x.Region, x.Range) })
		if reader.IsChecksum(other) {
			return other, nil
		}
		return nil, spaceError(to, other)
	})
	return made, err
}

// Others says where else than on its first node a chunk lies.
func (k *Keeper) Others(d *descriptor.Descriptor) string {
	var names []string
	for i := 1; i < d.Replicas(); i++ {
		name := k.reader.NodeOf(d.Replica(i))
		if extents := d.ExtentsOf(i); k.catalog != nil && k.node.Holder(extents[0].Region).State != replicas.Whole {
			name += " (not there)"
		} else if k.reader.Damage().Has(extents[0].ExtentID) {
			name += " (damaged)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// Incomplete counts the chunks of a table that have fewer replicas that can be read than they are to have.
func (k *Keeper) Incomplete(ctx context.Context, v *catalog.TableVersion) (int64, error) {
	chunks, err := k.facts.Chunks(ctx, v)
	if err != nil {
		return 0, err
	}
	return k.IncompleteOf(chunks, v), nil
}

func (k *Keeper) IncompleteOf(chunks []facts.Located, v *catalog.TableVersion) (n int64) {
	for _, at := range k.holders(chunks) {
		readable := 0
		for _, h := range at {
			if h.State == replicas.Whole {
				readable++
			}
		}
		if readable < max(v.Table().Replicas, 1) {
			n++
		}
	}
	return n
}
