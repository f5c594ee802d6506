package upkeep

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/placement/replicas"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Chunks change nodes while the table is read and written:
//
//	snapshot ─ which chunks have to go where ─► copy some, as they are ─► commit: the copies take their originals' numbers ─┐
//	    ▲                                                                                                                  │
//	    └─────────────────────────────── until all have moved; readers keep what they see ◄────────────────────────────────┘
//
// A step moves moveBytes at most, so that a large table does not need twice its space. A hash rewrites rows: see division.

// moveBytes is how much one commit moves, or one chunk.
const moveBytes = 128 << 20

// SetPlacement puts a placement on record and moves what lies elsewhere. An error, 40001 among them, may leave rows
// that have not moved: to repeat it goes on from there.
func (k *Keeper) SetPlacement(ctx context.Context, name catalog.TableName, text string) error {
	var moves *moves
	var divides *division
	begin := func(ctx context.Context, c *tableChange) error {
		record, err := k.ResolvePlacement(text, c.v.Table().Columns)
		if err != nil {
			return err
		}
		p, err := placement.Parse(record)
		if err != nil {
			return err
		}
		if p.Kind == placement.Hash {
			divides, err = k.beginDivision(c, p)
			return err
		}
		if err := c.record(p); err != nil {
			return err
		}
		moves, err = k.movesTo(ctx, c.v, p)
		return err
	}
	err := k.changeTable(ctx, name, begin)
	for conflicts := 0; errors.Is(err, catalog.ErrConflict) && conflicts < moveConflicts; conflicts++ {
		err = k.changeTable(ctx, name, begin) // a fold of small chunks was faster
	}
	switch {
	case err != nil:
		return err
	case divides != nil:
		return divides.run(ctx, nil)
	case moves != nil:
		return k.move(ctx, moves, nil)
	}
	return nil
}

// SetReplicas puts on record how many replicas chunks are to have, and makes them or lets them go. An error, 40001
// among them, may leave chunks that have another number: to repeat it goes on from there.
func (k *Keeper) SetReplicas(ctx context.Context, name catalog.TableName, replicas int) error {
	var moves *moves
	err := k.changeTable(ctx, name, func(ctx context.Context, c *tableChange) error {
		record, err := k.ResolveReplicas(replicas)
		if err != nil {
			return err
		}
		if old := c.v.Table().Replicas; record == 0 && old > 0 {
			record = 1 // there may be some left
		}
		if record != c.v.Table().Replicas {
			if err := c.tx.SetReplicas(c.v.Table().Name, record); err != nil {
				return err
			}
		}
		moves, err = k.mending(ctx, c.v, max(record, 1), k.node.Online())
		return err
	})
	if err != nil || moves == nil {
		return err
	}
	return k.move(ctx, moves, nil)
}

// mending lists the chunks that have too few replicas, or too many.
func (k *Keeper) mending(ctx context.Context, v *catalog.TableVersion, wanted int, online []string) (*moves, error) {
	if k.node.Self == nil {
		return nil, nil
	}
	p, err := placement.Parse(v.Table().Placement)
	if err != nil {
		return nil, err
	}
	chunks, err := k.facts.Chunks(ctx, v)
	if err != nil {
		return nil, err
	}
	w := &replicas.Plan{Placement: p, Replicas: wanted, Online: online}
	at := k.holders(chunks)
	return k.movesOf(ctx, v, chunks, func(i int) []replicas.Place { return w.Mended(at[i]) })
}

// holders says of every replica of chunks what it is worth.
func (k *Keeper) holders(chunks []facts.Located) [][]replicas.Holder {
	regions := map[memregion.RegionID]replicas.Holder{}
	list := make([][]replicas.Holder, len(chunks))
	for i := range chunks {
		c := &chunks[i]
		list[i] = make([]replicas.Holder, c.Replicas())
		for n := range list[i] {
			x := c.Extent(n)
			h, known := regions[x.Region]
			if !known {
				h = k.node.Holder(x.Region)
				regions[x.Region] = h
			}
			if h.State == replicas.Whole && k.reader.Damage().Has(x) {
				h.State = replicas.Lost
			}
			list[i][n] = h
		}
	}
	return list
}

// record puts a placement on record, if it is another.
func (c *tableChange) record(p placement.Placement) error {
	text := p.String()
	if p.Kind == placement.Local {
		text = ""
	}
	if text == c.v.Table().Placement {
		return nil
	}
	return c.tx.SetPlacement(c.v.Table().Name, text)
}

// tableChange is a change of one table under way.
type tableChange struct {
	tx   *catalog.Transaction
	v    *catalog.TableVersion
	read *reader.Readings // is confirmed before the commit
}

// changeTable runs a change of one table as it is now and commits it.
func (k *Keeper) changeTable(ctx context.Context, name catalog.TableName,
	change func(context.Context, *tableChange) error) (err error) {
	snapshot, err := k.catalog.Snapshot(ctx, catalog.Holder{Description: "move " + name.String()})
	if err != nil {
		return err
	}
	defer snapshot.Close()
	holder := k.node.Hold("change of table " + name.String())
	defer k.node.LetGo(holder) // after the transaction's end
	ctx = custody.With(ctx, holder)
	tx := k.catalog.Begin(snapshot)
	defer func() {
		tx.Rollback()
		if err != nil {
			k.node.Settle(ctx)
		}
	}()
	version, ok := tx.Contents().Table(name)
	if !ok {
		return sqlerror.New("42P01", "relation %q does not exist", name.String())
	}
	faults := k.reader.Faults()
	c := &tableChange{tx, version, k.reader.Readings(k.reader.Verification())}
	if err := change(ctx, c); err != nil {
		return reader.OfAnother(err, c.read, snapshot.Trust)
	}
	if err := k.engine.Trustworthy(ctx, faults, c.read, snapshot); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// moves are chunks of a table whose replicas have to lie elsewhere. Chunks are known by their number and their first
// extents: what was rewritten meanwhile is where it belongs.
type moves struct {
	table catalog.TableName
	list  []chunkMove
	amount
}

type chunkMove struct {
	number int
	firsts []catalog.ExtentID // of its replicas: orders may come behind them meanwhile
	amount
	to []replicas.Place
}

// amount is what moves, or has moved: chunks, their rows, and the bytes that are copied.
type amount struct{ chunks, rows, bytes int64 }

func (a *amount) add(b amount) {
	a.chunks += b.chunks
	a.rows += b.rows
	a.bytes += b.bytes
}

// firstsOf are the first extents of a chunk's replicas.
func firstsOf(c *catalog.Chunk) (list []catalog.ExtentID) {
	for i := range c.Replicas() {
		list = append(list, c.Descriptor().ExtentsOf(i)[0].ExtentID)
	}
	return list
}

// movesTo lists what has to move for a placement of whole chunks: as little as makes it true, and rows over nodes even.
func (k *Keeper) movesTo(ctx context.Context, v *catalog.TableVersion, p placement.Placement) (*moves, error) {
	if p.Kind == placement.Local || k.node.Self == nil {
		return nil, nil // what is there was local once
	}
	names, err := k.node.Takers(p)
	if err != nil {
		return nil, err
	}
	chunks, err := k.facts.Chunks(ctx, v)
	if err != nil {
		return nil, err
	}
	w := &replicas.Plan{Placement: p, Replicas: max(v.Table().Replicas, 1), Online: k.node.Online(), Load: map[string]int64{}}
	total := int64(0)
	for _, c := range chunks {
		total += c.Bytes
	}
	share := total / int64(len(names))
	at := k.holders(chunks)
	first := make([]string, len(chunks))
	var pending []int
	for i, c := range chunks {
		h := at[i][0]
		if h.State == replicas.Whole && slices.Contains(names, h.Node) && w.Load[h.Node]+c.Bytes/2 <= share {
			w.Load[h.Node] += c.Bytes
			first[i] = h.Node
		} else {
			pending = append(pending, i)
		}
	}
	for _, i := range pending {
		first[i] = w.Least(names, nil, chunks[i].Bytes)
	}
	return k.movesOf(ctx, v, chunks, func(i int) []replicas.Place { return w.Places(first[i], at[i]) })
}

// movesOf lists the chunks whose replicas do not lie where they are wanted.
func (k *Keeper) movesOf(ctx context.Context, v *catalog.TableVersion, chunks []facts.Located,
	places func(i int) []replicas.Place) (*moves, error) {
	m := &moves{table: v.Table().Name}
	for i := range chunks {
		if chunks[i].First.Region == 0 {
			continue // it has no bytes
		}
		to := places(i)
		if replicas.Unchanged(to, chunks[i].Replicas()) {
			continue
		}
		c, err := v.Chunk(ctx, i)
		if err != nil {
			return nil, err
		}
		x := chunkMove{number: i, firsts: firstsOf(c), to: to, amount: amount{chunks: 1, rows: chunks[i].Living()}}
		for _, p := range to {
			if p.Have < 0 {
				x.bytes += chunks[i].Bytes
			}
		}
		m.list = append(m.list, x)
		m.add(x.amount)
	}
	return m, nil
}

// moveConflicts bounds how often a step is tried again whose chunks got orders meanwhile.
const moveConflicts = 20

// move does them, step by step; moved (or nil) is called with what each step has moved.
func (k *Keeper) move(ctx context.Context, m *moves, moved func(amount)) error {
	for conflicts := 0; len(m.list) > 0; {
		step := m.next(moveBytes)
		done, err := k.moveStep(ctx, m.table, step)
		if err != nil {
			if conflicts++; errors.Is(err, catalog.ErrConflict) && conflicts <= moveConflicts {
				continue
			}
			return err
		}
		k.fault.At(faults.MoveStep)
		if m.list = m.list[len(step):]; moved != nil {
			moved(done)
		}
	}
	return nil
}

// next is the next step: at most so many bytes, or one chunk.
func (m *moves) next(most int64) []chunkMove {
	n, bytes := 0, int64(0)
	for n < len(m.list) && (n == 0 || bytes+m.list[n].bytes <= most) {
		bytes += m.list[n].bytes
		n++
	}
	return m.list[:n]
}

// moveStep copies some chunks and commits the copies in their place, or beside them. It returns what it moved: not
// what is not there any more.
func (k *Keeper) moveStep(ctx context.Context, table catalog.TableName, list []chunkMove) (done amount, err error) {
	err = k.changeTable(ctx, table, func(ctx context.Context, change *tableChange) error {
		var mu sync.Mutex // guards made, and done
		made := map[int]catalog.Replacement{}
		group, running := errgroup.WithContext(ctx)
		group.SetLimit(k.threads())
		numbers, err := k.numbersOf(ctx, change.v, list)
		if err != nil {
			return err
		}
		for i, x := range list {
			group.Go(func() error {
				if numbers[i] < 0 {
					return nil
				}
				c, err := change.v.Chunk(running, numbers[i])
				if err != nil || !slices.Equal(firstsOf(c), x.firsts) {
					return err
				}
				moved, err := k.rearranged(running, change.read, table.String(), numbers[i], c, x.to)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					made[numbers[i]] = catalog.Replacement{Old: c, New: moved}
					done.add(x.amount)
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return errors.Join(err, k.discardAdded(made))
		}
		if len(made) == 0 {
			return nil
		}
		k.fault.At(faults.MoveCopied)
		return change.tx.ReplaceChunks(ctx, table, made)
	})
	return done, err
}

// numbersOf finds the chunks of a step, whose numbers may be others because what lay before them was folded: -1 is one
// that is not there any more.
func (k *Keeper) numbersOf(ctx context.Context, v *catalog.TableVersion, list []chunkMove) ([]int, error) {
	chunks, err := k.facts.Chunks(ctx, v)
	if err != nil {
		return nil, err
	}
	at := make(map[catalog.ExtentID]int, len(list))
	for i, x := range list {
		at[x.firsts[0]] = i
	}
	numbers := slices.Repeat([]int{-1}, len(list))
	for number := range chunks {
		if i, wanted := at[chunks[number].First]; wanted {
			numbers[i] = number
		}
	}
	return numbers, nil
}
