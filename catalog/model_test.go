package catalog_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
)

var (
	ctx     = context.Background()
	columns = arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil)
	epoch   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

type openSnapshot struct {
	snapshot *catalog.Snapshot
	sees     *twin
}

var openSnapshots = map[*world][]openSnapshot{}

// session is a user with a transaction under way.
type session struct {
	snapshot *catalog.Snapshot
	tx       *catalog.Transaction
	base     *twin
	sees     *twin
	touched  map[string]bool
	cloned   map[string]bool // tables of which it has made clones, perhaps before it went back: they may not have changed
	marks    []mark
}

// mark is a savepoint and what the session was there.
type mark struct {
	savepoint catalog.Savepoint
	sees      *twin
	touched   map[string]bool
}

func (s *session) mark(at catalog.Savepoint) {
	s.marks = append(s.marks, mark{at, s.sees.clone(), maps.Clone(s.touched)})
}

// back goes to one of the savepoints; those after it are gone, it stays.
func (s *session) back(t require.TestingT, i int, keep bool) {
	m := s.marks[i]
	require.NoError(t, s.tx.RollbackTo(m.savepoint, keep))
	s.sees, s.touched, s.marks = m.sees.clone(), maps.Clone(m.touched), s.marks[:i+1]
}

var modelNames = []catalog.TableName{{Schema: "public", Name: "a"}, {Schema: "public", Name: "b"}, {Schema: "other", Name: "a"}}

// TestModel runs random transactions of several sessions against the twin: snapshot isolation, conflicts, reclaim
// exactly when the last lease goes, restarts.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// The dice are rolled from a seed: drawn one by one they would be small most of the time and most steps the same.
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		oneHistory(rt, rng, rapid.IntRange(5, 80).Draw(rt, "steps"), modelNames, 15)
	})
}

// TestModelOfOneTable is TestModel where all sessions write to the same table, so that most commits find that another
// one was there before: appends, moves and folds of the same chunks, and of those before them (H5, H7, K3, K5).
func TestModelOfOneTable(t *testing.T) {
	for seed := range uint64(200) {
		oneHistory(t, rand.New(rand.NewPCG(seed, 3)), 150, modelNames[:1], 15)
	}
}

// TestModelOfNotes is TestModel where sessions note rows of several tables for the most part, at once (K16).
func TestModelOfNotes(t *testing.T) {
	names := []catalog.TableName{{Schema: "public", Name: "a"}, {Schema: "public", Name: "b"}, {Schema: "public", Name: "c"}}
	for seed := range uint64(120) {
		oneHistory(t, rand.New(rand.NewPCG(seed, 4)), 100, names, 9)
	}
}

// oneHistory takes steps, of 17 kinds: the last ones are notes, and from a number on half of the others are.
func oneHistory(rt require.TestingT, rng *rand.Rand, steps int, names []catalog.TableName, notes int) {
	limits := storeLimits(rng)
	w := newWorld(rt, limits)
	defer delete(openSnapshots, w)
	w.calm = len(names) == 1 || notes < 15
	w.most, w.several = pick(rng, []int{0, 4, 12}), pick(rng, []int{0, 1, 2})
	w.crash(rng, nil) // with these limits
	now := &twin{map[string]int64{"public": 0}, map[catalog.TableName]twinTable{}, map[string]int64{}}
	sessions := make([]*session, 3)
	clock := int64(0)
	for range steps {
		clock++
		i := rng.IntN(len(sessions))
		s := sessions[i]
		switch op := rng.IntN(17); {
		case op >= notes && (op > 14 || rng.IntN(2) == 0):
			over, doubt := w.meet(rng, now, names, s, clock)
			if over {
				s.snapshot.Close()
				sessions[i] = nil
			}
			if doubt || rng.IntN(10) == 0 {
				sessions = make([]*session, len(sessions))
				openSnapshots[w] = nil
				w.crash(rng, now)
			}
		case op == 0:
			holder := catalog.Holder{Domain: pick(rng, []coherence.Domain{"", "far"})}
			snapshot, err := w.catalog.Snapshot(ctx, holder)
			require.NoError(rt, err)
			w.settle(now)
			openSnapshots[w] = append(openSnapshots[w], openSnapshot{snapshot, now.clone()})
		case op == 1 && len(openSnapshots[w]) > 0:
			k := rng.IntN(len(openSnapshots[w]))
			o := openSnapshots[w][k]
			w.requireContents(o.sees, o.snapshot.Contents)
			openSnapshots[w] = slices.Delete(openSnapshots[w], k, k+1)
			o.snapshot.Close()
		case op == 2 && rng.IntN(4) == 0:
			sessions = make([]*session, len(sessions))
			openSnapshots[w] = nil
			w.crash(rng, now)
		case s == nil:
			sessions[i] = w.begin(now)
		case op == 3:
			s.tx.Rollback()
			s.snapshot.Close()
			sessions[i] = nil
		case op == 12:
			s.mark(s.tx.Savepoint())
		case op == 14:
			w.advance(s, now)
		case op == 13:
			s.back(rt, rng.IntN(len(s.marks)), rng.IntN(3) == 0)
			w.requireContents(s.sees, s.tx.Contents())
		case op >= 9:
			now = w.commit(s, now, clock, s.tx.Commit(ctx))
			w.settle(now)
			s.snapshot.Close()
			sessions[i] = nil
		default:
			w.step(rt, rng, s, pick(rng, names))
			w.requireContents(s.sees, s.tx.Contents())
		}
	}
	for _, s := range sessions {
		if s != nil {
			s.tx.Rollback()
			s.snapshot.Close()
		}
	}
	last, err := w.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(rt, err)
	w.settle(now)
	w.requireContents(now, last.Contents)
	w.requireNoLeak(last.Contents)
	for _, o := range openSnapshots[w] {
		w.requireContents(o.sees, o.snapshot.Contents)
		o.snapshot.Close()
	}
	openSnapshots[w] = nil
	w.requireNoLeak(last.Contents)
	last.Close()
	w.restart()
	again, err := w.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(rt, err)
	w.requireContents(now, again.Contents)
	w.requireNoLeak(again.Contents)
	require.NoError(rt, w.catalog.Sweep(ctx))
	w.requirePages(again.Contents)
}

func (w *world) begin(now *twin) *session {
	snapshot, err := w.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(w.t, err)
	w.settle(now)
	s := &session{snapshot, w.catalog.Begin(snapshot), now.clone(), now.clone(), map[string]bool{}, map[string]bool{}, nil}
	s.mark(s.tx.Start())
	return s
}

// step does one random statement to both.
func (w *world) step(rt require.TestingT, rng *rand.Rand, s *session, name catalog.TableName) {
	table, have := s.sees.tables[name]
	table.chunks = slices.Clone(table.chunks)
	draw := func() int64 { w.drawn++; return w.drawn }
	_, schema := s.sees.schemas[name.Schema]
	touch := func() { s.touched[name.String()] = true }
	op, seldom := rng.IntN(14), 1
	if w.calm {
		seldom = 8
	}
	if have && (op == 0 || op == 4 || op == 5 || op == 6) && rng.IntN(seldom) > 0 {
		op = 1
	} else if !have && w.calm {
		op = 0
	}
	switch op {
	case 12, 13:
		w.fold(rt, rng, s, name, table, have, touch)
	case 0:
		if rng.IntN(2) == 0 {
			w.clone(rt, rng, s, name, draw(), touch)
			return
		}
		_, err := s.tx.CreateTable(ctx, name, columnsOf(name), catalog.TableOptions{})
		switch {
		case !schema:
			require.ErrorIs(rt, err, catalog.ErrUndefinedSchema)
		case have:
			require.ErrorIs(rt, err, catalog.ErrDuplicateTable)
		default:
			require.NoError(rt, err)
			s.sees.tables[name] = twinTable{id: draw()}
			touch()
		}
	case 1, 2, 3:
		var chunks []*catalog.Chunk
		var added []twinChunk
		for range 1 + rng.IntN(3) {
			first := w.next
			c := w.chunk(1 + rng.IntN(5))
			made := twinChunk{place: placeOf(c)}
			for v := first; v < w.next; v++ {
				made.values = append(made.values, v)
			}
			chunks, added = append(chunks, c), append(added, made)
		}
		replace := rng.IntN(5*seldom) == 0
		err := s.tx.Append(name, chunks)
		if replace && err == nil {
			added = nil // the chunks are in no version then, and must come back all the same
			err = s.tx.Truncate(name)
			table.chunks, table.truncated, table.folded, table.epoch = nil, true, nil, draw()
			table.numbers = table.epoch
		}
		if !have {
			require.Error(rt, err)
			return
		}
		if table.folded != nil {
			require.ErrorIs(rt, err, hugetable.ErrMismatch, "a fold is alone")
			return
		}
		require.NoError(rt, err)
		table.chunks = append(table.chunks, added...)
		s.sees.tables[name] = table
		touch()
	case 4:
		err := s.tx.DropTable(name)
		if !have {
			require.Error(rt, err)
			return
		}
		require.NoError(rt, err)
		delete(s.sees.tables, name)
		touch()
	case 5:
		to := pick(rng, modelNames)
		_, taken := s.sees.tables[to]
		_, toSchema := s.sees.schemas[to.Schema]
		err := s.tx.RenameTable(name, to)
		if !have || taken || !toSchema {
			require.Error(rt, err)
			return
		}
		require.NoError(rt, err)
		delete(s.sees.tables, name)
		s.sees.tables[to] = table
		touch()
		s.touched[to.String()] = true
	case 9, 10, 11:
		w.delete(rt, rng, s, name, table)
	case 7, 8: // the same rows in other memory, or in more
		if !have {
			require.Error(rt, s.tx.ReplaceChunks(ctx, name, nil))
			return
		}
		if rng.IntN(4) == 0 { // that is all, for the most part
			table.placement = pick(rng, []string{"", "rows", "node(n)"})
			require.NoError(rt, s.tx.SetPlacement(name, table.placement))
			s.sees.tables[name] = table
			touch()
			return
		}
		v, _ := s.tx.Contents().Table(name)
		moved := map[int]catalog.Replacement{}
		for p, err := range v.Chunks(ctx) {
			require.NoError(rt, err)
			if rng.IntN(3) == 0 {
				moved[p.Index] = w.rearranged(rng, p.Chunk)
				table.chunks[p.Index].place = placeOf(moved[p.Index].New)
			}
		}
		err := s.tx.ReplaceChunks(ctx, name, moved)
		if table.folded != nil && len(moved) > 0 {
			require.ErrorIs(rt, err, hugetable.ErrMismatch, "a fold is alone")
			return
		}
		require.NoError(rt, err)
		if rng.IntN(3*seldom) == 0 {
			table.replicas, table.placement = 1+rng.IntN(3), pick(rng, []string{"", "rows"})
			require.NoError(rt, s.tx.SetReplicas(name, table.replicas))
			require.NoError(rt, s.tx.SetPlacement(name, table.placement))
		}
		s.sees.tables[name] = table
		touch()
	case 6:
		if _, ok := s.sees.schemas["other"]; !ok {
			require.NoError(rt, s.tx.CreateSchema("other"))
			s.sees.schemas["other"] = 0
			s.touched["other"] = true
			return
		}
		cascade := rng.IntN(2) == 0
		inside := catalog.TableName{Schema: "other", Name: "a"}
		_, full := s.sees.tables[inside]
		err := s.tx.DropSchema("other", cascade)
		if full && !cascade {
			require.ErrorIs(rt, err, catalog.ErrSchemaNotEmpty)
			return
		}
		require.NoError(rt, err)
		delete(s.sees.tables, inside)
		delete(s.sees.schemas, "other")
		s.touched["other"] = true
		if full {
			s.touched[inside.String()] = true
		}
	}
}

// clone makes a table of another one's rows.
func (w *world) clone(rt require.TestingT, rng *rand.Rand, s *session, name catalog.TableName, id int64, touch func()) {
	of := pick(rng, modelNames)
	v, have := s.tx.Contents().Table(of)
	if !have {
		return
	}
	_, taken := s.sees.tables[name]
	_, schema := s.sees.schemas[name.Schema]
	committed, is := s.snapshot.Table(of)
	err := s.tx.Clone(ctx, v, name, columns, catalog.TableOptions{Replicas: 2})
	switch {
	case !is || committed != v:
		require.ErrorIs(rt, err, catalog.ErrNoVersion, "it has changed in this transaction")
	case !schema:
		require.ErrorIs(rt, err, catalog.ErrUndefinedSchema)
	case taken:
		require.ErrorIs(rt, err, catalog.ErrDuplicateTable)
	default:
		require.NoError(rt, err)
		s.sees.tables[name] = twinTable{id: id, replicas: 2, chunks: slices.Clone(s.sees.tables[of].chunks)}
		s.cloned[of.String()] = true
		touch()
	}
}

// delete takes some rows of some chunks away.
func (w *world) delete(rt require.TestingT, rng *rand.Rand, s *session, name catalog.TableName, table twinTable) {
	v, have := s.tx.Contents().Table(name)
	if !have {
		require.Error(rt, s.tx.DeleteRows(ctx, name, nil))
		return
	}
	rows, share := map[int]*positions.Set{}, []float64{0.1, 0.4, 1}[rng.IntN(3)]
	for p, err := range v.Chunks(ctx) {
		require.NoError(rt, err)
		c, set, gone := table.chunks[p.Index], positions.New(p.Rows()), map[int64]bool{}
		if rng.IntN(2) == 0 {
			continue
		}
		for at, value := range c.values {
			switch {
			case c.dead[value] && table.folded == nil: // H6
				err := s.tx.DeleteRows(ctx, name, map[int]*positions.Set{p.Index: positions.Of(p.Rows(), int64(at))})
				require.ErrorIs(rt, err, hugetable.ErrDeleted)
			case rng.Float64() < share:
				set.Add(int64(at))
				gone[value] = true
			}
		}
		rows[p.Index], table.chunks[p.Index] = set, c.without(gone)
	}
	err := s.tx.DeleteRows(ctx, name, rows)
	if table.folded != nil && len(rows) > 0 {
		require.ErrorIs(rt, err, hugetable.ErrMismatch, "a fold is alone")
		return
	}
	require.NoError(rt, err)
	s.sees.tables[name] = table
	s.touched[name.String()] = true
}

// fold makes one chunk of some that follow each other, if the transaction has not changed the table otherwise, and
// leaves out some of their deleted rows, or all.
func (w *world) fold(rt require.TestingT, rng *rand.Rand, s *session,
	name catalog.TableName, table twinTable, have bool, touch func()) {
	if !have || len(table.chunks) < 1 {
		require.Error(rt, s.tx.Fold(ctx, name, 0, nil, nil))
		return
	}
	v, _ := s.tx.Contents().Table(name)
	first := rng.IntN(len(table.chunks))
	n, share, out := 1+rng.IntN(len(table.chunks)-first), []float64{0, 0.5, 1}[rng.IntN(3)], 0
	var olds []*catalog.Chunk
	var left []*positions.Set
	w.drawn++
	made := twinChunk{fold: w.drawn}
	dead := map[int64]bool{}
	for i := first; i < first+n; i++ {
		c, err := v.Chunk(ctx, i)
		require.NoError(rt, err)
		olds, left = append(olds, c), append(left, positions.New(c.Rows()))
		maps.Copy(dead, table.chunks[i].dead)
		for at, value := range table.chunks[i].values {
			if table.chunks[i].dead[value] && rng.Float64() < share {
				left[i-first].Add(int64(at))
				out++
			} else {
				made.values = append(made.values, value)
			}
		}
	}
	made = made.with(dead)
	base, committed := s.base.tables[name]
	committed = committed && slices.EqualFunc(base.chunks, table.chunks, func(a, b twinChunk) bool {
		return a.place == b.place && len(a.dead) == len(b.dead)
	})
	var news []*catalog.Chunk
	var became []twinChunk
	if len(made.values) > 0 {
		news = append(news, w.chunkOf(made.values))
		made.place = placeOf(news[0])
		became = append(became, made)
	}
	if out == 0 {
		left = nil
	}
	err := s.tx.Purge(ctx, name, first, olds, news, left)
	if n == 1 && out == 0 {
		require.ErrorIs(rt, err, hugetable.ErrMismatch, "it would have moved")
		return
	}
	if table.folded != nil || table.truncated || !committed {
		require.ErrorIs(rt, err, hugetable.ErrMismatch, "a fold is alone")
		return
	}
	require.NoError(rt, err)
	table.chunks = slices.Replace(table.chunks, first, first+n, became...)
	w.drawn++
	table.folded, table.numbers = &twinFold{first, n, len(became)}, w.drawn
	s.sees.tables[name] = table
	touch()
}

// commit compares the outcome of a session's commit with what it has to be: a conflict exactly if something that was touched changed since the snapshot, and it is not
// that rows were appended, other rows deleted, or other chunks moved, on both sides.
func (w *world) commit(s *session, now *twin, clock int64, err error) *twin {
	conflict, merged := false, map[catalog.TableName]twinTable{}
	for name := range s.touched {
		base, had := s.base.tables[tableName(name)]
		have, still := now.tables[tableName(name)]
		if now.marks[name] == s.base.marks[name] {
			continue
		}
		if !had || !still || have.id != base.id {
			conflict = true
			continue
		}
		for to, own := range s.sees.tables { // the same name for the most part
			if own.id == base.id {
				next, together := own.rebase(base, have)
				conflict, merged[to] = conflict || !together, next
			}
		}
		if own, has := s.sees.tables[tableName(name)]; !has || own.id != base.id { // dropped, renamed, or recreated
			conflict = conflict || have.changed != base.changed || !have.like(base)
		}
	}
	for name := range s.touched {
		_, before := s.base.tables[tableName(name)]
		_, after := s.sees.tables[tableName(name)]
		if strings.HasPrefix(name, "other.") && !before && after { // a new table needs its schema as it was
			conflict = conflict || now.marks["other"] != s.base.marks["other"]
		}
		if name == "other" { // a dropped schema must not have got a table meanwhile
			made := now.tables[tableName("other.a")].named != s.base.tables[tableName("other.a")].named
			conflict = conflict || (made && contains(now, "other.a") && hasSchema(s.base, "other"))
		}
	}
	if s.writes() {
		for name := range s.cloned {
			conflict = conflict || now.marks[name] != s.base.marks[name]
		}
	}
	if conflict {
		require.ErrorIs(w.t, err, catalog.ErrConflict, "touched %v base %+v now %+v own %+v", s.touched, s.base, now, s.sees)
		var state interface{ SQLState() string }
		require.True(w.t, errors.As(err, &state))
		require.Equal(w.t, "40001", state.SQLState())
		return now
	}
	require.NoError(w.t, err)
	next := now.clone()
	for name := range s.touched { // what does not exist has no mark: that it came and went meanwhile is no conflict
		delete(next.marks, name)
		if name == "other" {
			delete(next.schemas, name)
			if _, ok := s.sees.schemas[name]; ok {
				next.schemas[name], next.marks[name] = 0, clock
			}
			continue
		}
		delete(next.tables, tableName(name))
		if own, ok := s.sees.tables[tableName(name)]; ok {
			table := own
			if both, ok := merged[tableName(name)]; ok {
				table = both
			}
			was, ok := s.baseOf(table.id)
			same := slices.Equal(was.rows(), own.rows()) && (was.stored() == own.stored() || own.folded != nil)
			if !ok || table.truncated || !same {
				table.changed = clock
			}
			if s.base.tables[tableName(name)].leaves(s.sees.tables[tableName(name)], table) {
				w.drawn++
				table.chunks, table.epoch, table.numbers, table.changed = nil, w.drawn, w.drawn, clock
			}
			if s.base.tables[tableName(name)].id != table.id {
				table.named = clock
			}
			table.truncated, table.folded = false, nil
			next.tables[tableName(name)], next.marks[name] = table, clock
		}
	}
	return next
}

// advance moves a session that has only appended and deleted rows behind what others have committed, or is the conflict
// that its commit would be.
func (w *world) advance(s *session, now *twin) {
	if !s.tx.ByRows() {
		return
	}
	to, err := w.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(w.t, err)
	w.settle(now)
	conflict, sees := false, now.clone()
	for name := range s.touched {
		base, have := s.base.tables[tableName(name)], now.tables[tableName(name)]
		next, together := s.sees.tables[tableName(name)].rebase(base, have)
		conflict = conflict || have.id != base.id || !together
		sees.tables[tableName(name)] = next
	}
	var points []*catalog.Savepoint
	undone := false // something that a savepoint has, and the session has not any more, is a conflict
	for i, m := range s.marks {
		points = append(points, &s.marks[i].savepoint)
		for name := range m.touched {
			_, together := m.sees.tables[tableName(name)].rebase(s.base.tables[tableName(name)], now.tables[tableName(name)])
			undone = undone || !together
		}
	}
	would, err := s.tx.GoesBehind(ctx, to), s.tx.Advance(ctx, to, points...)
	if conflict || undone {
		require.Equal(w.t, conflict, errors.Is(would, catalog.ErrConflict), would)
		require.ErrorIs(w.t, err, catalog.ErrConflict)
		to.Close()
		w.requireContents(s.sees, s.tx.Contents())
		return
	}
	require.NoError(w.t, would)
	require.NoError(w.t, err)
	for i := range s.marks {
		m := &s.marks[i]
		saw := m.sees
		m.sees = now.clone()
		for name := range m.touched {
			m.sees.tables[tableName(name)], _ = saw.tables[tableName(name)].rebase(s.base.tables[tableName(name)],
				now.tables[tableName(name)])
		}
	}
	s.snapshot.Close()
	s.snapshot, s.base, s.sees = to, now.clone(), sees
	w.requireContents(s.sees, s.tx.Contents())
}

// writes reports whether anything is left of what the session has done: not so of what it made and dropped.
func (s *session) writes() bool {
	for name := range s.touched {
		if contains(s.base, name) || contains(s.sees, name) || hasSchema(s.base, name) || hasSchema(s.sees, name) {
			return true
		}
	}
	return false
}

// baseOf is a table as the session found it, whatever it was called.
func (s *session) baseOf(id int64) (twinTable, bool) {
	for _, t := range s.base.tables {
		if t.id == id {
			return t, true
		}
	}
	return twinTable{}, false
}

func tableName(text string) catalog.TableName {
	schema, name, _ := strings.Cut(text, ".")
	return catalog.TableName{Schema: schema, Name: name}
}

func contains(t *twin, name string) bool {
	_, ok := t.tables[tableName(name)]
	return ok
}

func hasSchema(t *twin, name string) bool {
	_, ok := t.schemas[name]
	return ok
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// storeLimits are those of a store that takes everything at once, or hardly anything.
func storeLimits(rng *rand.Rand) store.Limits {
	return []store.Limits{{}, {Operations: 24, Bytes: 550}}[rng.IntN(2)]
}
