package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/statement"
)

// Chunks change nodes while the table is read and written:
//
//	snapshot ─ which chunks have to go where ─► copy some, as they are ─► commit: the copies take their originals' numbers ─┐
//	    ▲                                                                                                                  │
//	    └─────────────────────────────── until all have moved; readers keep what they see ◄────────────────────────────────┘
//
// A step moves moveBytes at most, so that a large table does not need twice its space. Only a hash writes all rows anew, at once.

// moveBytes is how much one commit moves, or one chunk.
const moveBytes = 128 << 20

// setPlacement is ALTER TABLE … SET PLACEMENT.
func (st *Statement) setPlacement(ctx context.Context, head *statement.SetPlacement) (*Rows, error) {
	s := st.session
	e := s.engine
	switch {
	case e.catalog == nil:
		return nil, failure("25006", "this session reads the lent memory of another process and cannot write").hint("Write through the node itself: csmsql sql without --attach.")
	case s.block != nil && (!s.block.implicit || s.block.tx != nil):
		return nil, failure("25001", "ALTER TABLE … SET PLACEMENT cannot run inside a transaction block").hint("It commits more than once, so that a large table does not need twice its space.")
	}
	name, err := s.tableNamed(ctx, head.Name)
	if told, ok := err.(*Error); ok && told.State == "42P01" && head.IfExists {
		s.notice(Notice{Severity: "NOTICE", State: "00000", Message: fmt.Sprintf("relation %q does not exist, skipping", head.Name.String())})
		return done("ALTER TABLE", 0), nil
	}
	if err != nil {
		return nil, st.pointAt(err, head.Name.Name)
	}
	if err := e.setPlacement(ctx, name, head.Placement); err != nil {
		return nil, advise(err)
	}
	return done("ALTER TABLE", 0), nil
}

// tableNamed finds a table for a statement that holds no snapshot of its own.
func (s *Session) tableNamed(ctx context.Context, name statement.Name) (catalog.TableName, error) {
	l, err := s.engine.snapshot(ctx)
	if err != nil {
		return catalog.TableName{}, err
	}
	v := s.engine.visible(l.snapshot.Contents, l)
	defer v.release()
	version, err := s.target(v, name)
	if err != nil {
		return catalog.TableName{}, err
	}
	return version.Table().Name, nil
}

// setPlacement puts a placement on record and moves what lies elsewhere. An error, 40001 among them, may leave rows that have not
// moved: to repeat it goes on from there.
func (e *Engine) setPlacement(ctx context.Context, name catalog.TableName, text string) error {
	var moves *moves
	err := e.changeTable(ctx, name, func(c *tableChange) error {
		record, err := e.resolvePlacement(text, c.v.Table().Columns)
		if err != nil {
			return err
		}
		p, err := placement.Parse(record)
		if err != nil {
			return err
		}
		if p.Kind == placement.Hash {
			return e.divideAnew(ctx, c, p)
		}
		if err := c.record(p); err != nil {
			return err
		}
		moves, err = e.movesTo(ctx, c.v, p)
		return err
	})
	if err != nil || moves == nil {
		return err
	}
	return e.move(ctx, moves, nil)
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
	read *readings // is confirmed before the commit
}

// changeTable runs a change of one table as it is now and commits it.
func (e *Engine) changeTable(ctx context.Context, name catalog.TableName, change func(*tableChange) error) (err error) {
	snapshot, err := e.catalog.Snapshot(ctx, catalog.Holder{Description: "move " + name.String()})
	if err != nil {
		return err
	}
	defer snapshot.Close()
	tx := e.catalog.Begin(snapshot)
	defer func() {
		tx.Rollback()
		if err != nil {
			e.node.settle(ctx)
		}
	}()
	version, ok := tx.Contents().Table(name)
	if !ok {
		return failure("42P01", "relation %q does not exist", name.String())
	}
	faults := e.regions.faults()
	c := &tableChange{tx, version, &readings{regions: e.regions}}
	if err := change(c); err != nil {
		return err
	}
	if err := e.trustworthy(ctx, faults, c.read, newLease(snapshot)); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// divideAnew writes all rows of a table anew, divided by a hash, unless they are already.
func (e *Engine) divideAnew(ctx context.Context, c *tableChange, p placement.Placement) error {
	table := c.v.Table()
	if table.Placement == p.String() {
		return nil
	}
	target := e.target(table.Name, table.Columns)
	if err := e.place(ctx, &target, p, c.v); err != nil {
		return err
	}
	w := ingest.NewWriter(target)
	defer w.Abort()
	all := firstColumns(table.Columns.NumFields())
	for at, err := range c.v.Chunks(ctx) {
		if err != nil {
			return err
		}
		batch, err := e.regions.read(ctx, c.read, table.Name.String(), at.Index, at.Chunk, all)
		if err != nil {
			return err
		}
		err = w.Add(ctx, batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
	chunks, err := w.Finish(ctx)
	if err != nil {
		return err
	}
	if err := c.tx.SetPlacement(table.Name, p.String()); err != nil {
		return errors.Join(err, target.Discard(chunks))
	}
	return c.tx.Replace(table.Name, chunks)
}

// moves are chunks of a table that have to go elsewhere. Chunks are known by their number and their first extent: what was
// written anew meanwhile is where it belongs.
type moves struct {
	table catalog.TableName
	list  []chunkMove
	bytes int64
}

type chunkMove struct {
	number int
	extent catalog.ExtentID
	bytes  int64
	to     string
}

// movesTo lists what has to move for a placement of whole chunks: as little as makes it true, and rows over nodes even.
func (e *Engine) movesTo(ctx context.Context, v *catalog.TableVersion, p placement.Placement) (*moves, error) {
	if p.Kind == placement.Local || e.node.self == nil {
		return nil, nil // what is there was local once
	}
	names, err := e.node.takers(p)
	if err != nil {
		return nil, err
	}
	chunks, err := e.locations(ctx, v)
	if err != nil {
		return nil, err
	}
	load, total := map[string]int64{}, int64(0)
	for _, c := range chunks {
		total += c.bytes
	}
	share := total / int64(len(names))
	var pending []int
	at := make([]string, len(chunks))
	for i, c := range chunks {
		name, _ := e.catalog.Reachable(c.region)
		if at[i] = name; slices.Contains(names, name) && load[name]+c.bytes/2 <= share {
			load[name] += c.bytes
		} else {
			pending = append(pending, i)
		}
	}
	return assign(ctx, v, chunks, pending, names, load, func(i int) string { return at[i] })
}

// assign gives each of some chunks to the node that has least by then; load is what they have.
func assign(ctx context.Context, v *catalog.TableVersion, chunks []located, pending []int, names []string, load map[string]int64,
	at func(int) string) (*moves, error) {
	m := &moves{table: v.Table().Name}
	for _, i := range pending {
		least := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(load[a], load[b]) })
		load[least] += chunks[i].bytes
		if least == at(i) {
			continue
		}
		c, err := v.Chunk(ctx, i)
		if err != nil {
			return nil, err
		}
		m.list = append(m.list, chunkMove{i, c.Extents()[0], chunks[i].bytes, least})
		m.bytes += chunks[i].bytes
	}
	return m, nil
}

// move does them, step by step; moved (or nil) is told of the bytes that have.
func (e *Engine) move(ctx context.Context, m *moves, moved func(bytes int64)) error {
	for list := m.list; len(list) > 0; {
		n, bytes := 0, int64(0)
		for n < len(list) && (n == 0 || bytes+list[n].bytes <= moveBytes) {
			bytes += list[n].bytes
			n++
		}
		if err := e.moveStep(ctx, m.table, list[:n]); err != nil {
			return err
		}
		e.config.Fault("move:step")
		if list = list[n:]; moved != nil {
			moved(bytes)
		}
	}
	return nil
}

// moveStep copies some chunks and commits the copies in their place.
func (e *Engine) moveStep(ctx context.Context, table catalog.TableName, list []chunkMove) error {
	return e.changeTable(ctx, table, func(change *tableChange) error {
		var mu sync.Mutex // guards made
		made := map[int]catalog.Replacement{}
		group, running := errgroup.WithContext(ctx)
		group.SetLimit(e.threads())
		for _, x := range list {
			if x.number >= change.v.NumChunks() {
				continue
			}
			group.Go(func() error {
				c, err := change.v.Chunk(running, x.number)
				if err != nil || c.Extents()[0] != x.extent {
					return err
				}
				change.read.note(table.String(), x.number, c)
				moved, err := e.copyChunk(running, table, x, c)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					made[x.number] = catalog.Replacement{Old: c, New: moved}
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			for _, r := range made {
				err = errors.Join(err, e.node.discard([]*catalog.Chunk{r.New}))
			}
			return err
		}
		if len(made) == 0 {
			return nil
		}
		e.config.Fault("move:copied")
		return change.tx.ReplaceChunks(ctx, table, made)
	})
}

// copyChunk copies one into another node's memory.
func (e *Engine) copyChunk(ctx context.Context, table catalog.TableName, x chunkMove, c *catalog.Chunk) (*catalog.Chunk, error) {
	space, err := e.node.spaceOf(ctx, x.to)
	if err != nil {
		return nil, err
	}
	damaged := func(err error) error {
		return &DamagedError{Table: table.String(), Chunk: x.number, Node: e.regions.nodeOf(c), Cause: err}
	}
	if err := e.regions.acquire(ctx, c); err != nil {
		return nil, damaged(err)
	}
	made, err := catalog.CopyChunk(space, c.Descriptor(), func(x *descriptor.Extent) ([]byte, error) { return e.regions.resolve(x.Region, x.Range) })
	if errors.Is(err, coherence.ErrChecksum) {
		return nil, damaged(err)
	}
	if err != nil {
		return nil, err
	}
	return c.In(made)
}
