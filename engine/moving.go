package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/placement/replicas"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
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
	return st.alterOnline(ctx, "SET PLACEMENT", head.Name, head.IfExists, func(name catalog.TableName) error {
		return st.session.engine.setPlacement(ctx, name, head.Placement)
	})
}

// alterOnline changes where a table's rows lie.
func (st *Statement) alterOnline(ctx context.Context, what string, table statement.Name, ifExists bool, alter func(catalog.TableName) error) (*Rows, error) {
	s := st.session
	switch {
	case s.engine.catalog == nil:
		return nil, sqlerror.New("25006", "this session reads the lent memory of another process and cannot write").WithHint("Write through the node itself: csmsql sql without --attach.")
	case s.block != nil && (!s.block.implicit || s.block.tx != nil):
		return nil, sqlerror.New("25001", "ALTER TABLE … %s cannot run inside a transaction block", what).WithHint("It commits more than once, so that a large table does not need twice its space.")
	}
	name, err := s.tableNamed(ctx, table)
	if told, ok := err.(*Error); ok && told.State == "42P01" && ifExists {
		s.notice(Notice{Severity: "NOTICE", State: "00000", Message: fmt.Sprintf("relation %q does not exist, skipping", table.String())})
		return done("ALTER TABLE", 0), nil
	}
	if err != nil {
		return nil, st.pointAt(err, table.Name)
	}
	if err := alter(name); err != nil {
		return nil, advise(err)
	}
	return done("ALTER TABLE", 0), nil
}

// tableNamed finds a table for a statement that holds no snapshot of its own.
func (s *Session) tableNamed(ctx context.Context, name statement.Name) (catalog.TableName, error) {
	own, err := s.temporaryNames(ctx)
	if err != nil {
		return catalog.TableName{}, err
	}
	l, err := s.engine.snapshot(ctx)
	if err != nil {
		return catalog.TableName{}, err
	}
	v := s.seeing(l.snapshot.Contents, l, own)
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
	err := e.changeTable(ctx, name, func(ctx context.Context, c *tableChange) error {
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

// setStorage is ALTER TABLE … SET (placement = …, replicas = …).
func (st *Statement) setStorage(ctx context.Context, head *statement.SetStorage) (*Rows, error) {
	if len(head.Options) == 0 {
		return nil, sqlerror.New("42601", "ALTER TABLE … SET () sets nothing").WithHint("There are placement and replicas.")
	}
	var placed *string
	var replicas int
	for _, o := range head.Options {
		var err error
		switch o.Name {
		case "placement":
			placed = &o.Value
		case "replicas":
			if replicas, err = replicasIn(o.Value); err == nil && replicas == 0 {
				err = checkReplicas(replicas)
			}
		default:
			err = unknownParameter(o.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	e := st.session.engine
	return st.alterOnline(ctx, "SET (…)", head.Name, head.IfExists, func(name catalog.TableName) error {
		if replicas > 0 { // first: what is moved then is moved once
			if err := e.setReplicas(ctx, name, replicas); err != nil {
				return err
			}
		}
		if placed != nil {
			return e.setPlacement(ctx, name, *placed)
		}
		return nil
	})
}

// setReplicas puts on record how many replicas chunks are to have, and makes them or lets them go. An error, 40001 among them, may leave
// chunks that have another number: to repeat it goes on from there.
func (e *Engine) setReplicas(ctx context.Context, name catalog.TableName, replicas int) error {
	var moves *moves
	err := e.changeTable(ctx, name, func(ctx context.Context, c *tableChange) error {
		record, err := e.resolveReplicas(replicas)
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
		moves, err = e.mending(ctx, c.v, max(record, 1), e.nodes())
		return err
	})
	if err != nil || moves == nil {
		return err
	}
	return e.move(ctx, moves, nil)
}

// mending lists the chunks that have too few replicas, or too many.
func (e *Engine) mending(ctx context.Context, v *catalog.TableVersion, wanted int, online []string) (*moves, error) {
	if e.node.Self == nil {
		return nil, nil
	}
	p, err := placement.Parse(v.Table().Placement)
	if err != nil {
		return nil, err
	}
	chunks, err := e.facts.Chunks(ctx, v)
	if err != nil {
		return nil, err
	}
	w := &replicas.Plan{Placement: p, Replicas: wanted, Online: online}
	at := e.holders(chunks)
	return e.movesOf(ctx, v, chunks, func(i int) []replicas.Place { return w.Mended(at[i]) })
}

// holders says of every replica of chunks what it is worth.
func (e *Engine) holders(chunks []facts.Located) [][]replicas.Holder {
	regions := map[memregion.RegionID]replicas.Holder{}
	list := make([][]replicas.Holder, len(chunks))
	for i := range chunks {
		c := &chunks[i]
		list[i] = make([]replicas.Holder, c.Replicas())
		for k := range list[i] {
			x := c.Extent(k)
			h, known := regions[x.Region]
			if !known {
				h = e.node.Holder(x.Region)
				regions[x.Region] = h
			}
			if h.State == replicas.Whole && e.reader.Damage().Has(x) {
				h.State = replicas.Lost
			}
			list[i][k] = h
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
func (e *Engine) changeTable(ctx context.Context, name catalog.TableName, change func(context.Context, *tableChange) error) (err error) {
	snapshot, err := e.catalog.Snapshot(ctx, catalog.Holder{Description: "move " + name.String()})
	if err != nil {
		return err
	}
	defer snapshot.Close()
	holder := e.node.Hold("change of table " + name.String())
	defer e.node.LetGo(holder) // after the transaction's end
	ctx = custody.With(ctx, holder)
	tx := e.catalog.Begin(snapshot)
	defer func() {
		tx.Rollback()
		if err != nil {
			e.node.Settle(ctx)
		}
	}()
	version, ok := tx.Contents().Table(name)
	if !ok {
		return sqlerror.New("42P01", "relation %q does not exist", name.String())
	}
	faults := e.reader.Faults()
	c := &tableChange{tx, version, e.reader.Readings(e.reader.Verification())}
	if err := change(ctx, c); err != nil {
		return ofAnother(err, c.read, snapshot.Trust)
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
	target := e.target(ctx, table.Name, table.Columns)
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
		batch, err := e.reader.Read(ctx, c.read, table.Name.String(), at.Index, at.Chunk, all)
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

// moves are chunks of a table whose replicas have to lie elsewhere. Chunks are known by their number and their extents: what was written anew
// meanwhile is where it belongs.
type moves struct {
	table catalog.TableName
	list  []chunkMove
	bytes int64
}

type chunkMove struct {
	number  int
	extents []catalog.ExtentID
	bytes   int64 // that are copied
	to      []replicas.Place
}

// movesTo lists what has to move for a placement of whole chunks: as little as makes it true, and rows over nodes even.
func (e *Engine) movesTo(ctx context.Context, v *catalog.TableVersion, p placement.Placement) (*moves, error) {
	if p.Kind == placement.Local || e.node.Self == nil {
		return nil, nil // what is there was local once
	}
	names, err := e.node.Takers(p)
	if err != nil {
		return nil, err
	}
	chunks, err := e.facts.Chunks(ctx, v)
	if err != nil {
		return nil, err
	}
	w := &replicas.Plan{Placement: p, Replicas: max(v.Table().Replicas, 1), Online: e.node.Online(), Load: map[string]int64{}}
	total := int64(0)
	for _, c := range chunks {
		total += c.Bytes
	}
	share := total / int64(len(names))
	at := e.holders(chunks)
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
	return e.movesOf(ctx, v, chunks, func(i int) []replicas.Place { return w.Places(first[i], at[i]) })
}

// movesOf lists the chunks whose replicas do not lie where they are wanted.
func (e *Engine) movesOf(ctx context.Context, v *catalog.TableVersion, chunks []facts.Located, places func(i int) []replicas.Place) (*moves, error) {
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
		x := chunkMove{number: i, extents: c.Extents(), to: to}
		for _, p := range to {
			if p.Have < 0 {
				x.bytes += chunks[i].Bytes
			}
		}
		m.list = append(m.list, x)
		m.bytes += x.bytes
	}
	return m, nil
}

// move does them, step by step; moved (or nil) is told of the bytes that have.
func (e *Engine) move(ctx context.Context, m *moves, moved func(bytes int64)) error {
	for len(m.list) > 0 {
		step, bytes := m.next(moveBytes)
		if err := e.moveStep(ctx, m.table, step); err != nil {
			return err
		}
		e.config.Fault.At(faults.MoveStep)
		if m.list = m.list[len(step):]; moved != nil {
			moved(bytes)
		}
	}
	return nil
}

// next is the next step: at most so many bytes, or one chunk.
func (m *moves) next(most int64) (step []chunkMove, bytes int64) {
	n := 0
	for n < len(m.list) && (n == 0 || bytes+m.list[n].bytes <= most) {
		bytes += m.list[n].bytes
		n++
	}
	return m.list[:n], bytes
}

// moveStep copies some chunks and commits the copies in their place, or beside them.
func (e *Engine) moveStep(ctx context.Context, table catalog.TableName, list []chunkMove) error {
	return e.changeTable(ctx, table, func(ctx context.Context, change *tableChange) error {
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
				if err != nil || !slices.Equal(c.Extents(), x.extents) {
					return err
				}
				moved, err := e.rearranged(running, change.read, table.String(), x.number, c, x.to)
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
				if added := r.Added(); len(added) > 0 {
					err = errors.Join(err, e.node.Lender.Discard(added...))
				}
			}
			return err
		}
		if len(made) == 0 {
			return nil
		}
		e.config.Fault.At(faults.MoveCopied)
		return change.tx.ReplaceChunks(ctx, table, made)
	})
}
