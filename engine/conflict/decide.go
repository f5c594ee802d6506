package conflict

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/key"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Proposal are the rows that a statement proposes to a version of the rule's table.
type Proposal struct {
	Rule    *Rule
	Version *catalog.TableVersion
	Rows    *retained.Batches
	// Args are the values of the statement's parameters.
	Args []any

	Keys *key.Keeper
	Conn *duckdb.Connection
	// Check holds rows to the table's checks; nil: it has none.
	Check func(ctx context.Context, rows arrow.RecordBatch) error
	// Keep keeps batches for the session.
	Keep func() *retained.Batches
	// Each gives what a query gives for values of its parameters, batch by batch.
	Each func(ctx context.Context, text string, args []any, each func(arrow.RecordBatch) error) error

	limits   []ingest.Limit
	arbiters []arbiter
	there    []int64 // the number of the row that has the key of each, or none
	became   map[int]change
	updated  *retained.Batches
}

// none is no row's number.
const none = -1

// arbiter is a key with what proposed rows have of it.
type arbiter struct {
	key.Key
	sums  []key.Sum
	known []bool               // false: the key is absent
	own   map[key.Sum]struct{} // of rows that the statement has written
}

// place is a row of some batch; none, if that is nil.
type place struct {
	batch arrow.RecordBatch
	row   int
}

// change is what a pair becomes, with its keys.
type change struct {
	place
	keys []owned
}

// owned is what a row has of an arbiter.
type owned struct {
	sum   key.Sum
	known bool
}

// rowBytes is about what is kept for each proposed row and key.
const rowBytes = 64

// Decide adds to the writer what the statement writes, in the order of the proposed rows, and gives how many that are
// and the rows in whose place some of them come, by chunk. returns, if not nil, keeps
// what is written.
func (p *Proposal) Decide(ctx context.Context, w *ingest.Writer, limits []ingest.Limit,
	returns *retained.Batches) (count int64, gone map[int]*positions.Set, err error) {
	p.limits = limits
	if err := p.hold(ctx); err != nil {
		return 0, nil, err
	}
	if err := p.Rows.Charge(p.Rows.Rows * rowBytes * int64(1+len(p.Rule.arbiters))); err != nil {
		return 0, nil, err
	}
	if err := p.look(ctx); err != nil {
		return 0, nil, err
	}
	p.updated = p.Keep()
	defer p.updated.Release()
	if p.Rule.head.Conflict.Update {
		if err := p.ask(ctx); err != nil {
			return 0, nil, err
		}
	}
	hits := rewrite.NewHits(p.Version, p.Rows.Charge)
	out := &output{writer: w, returns: returns}
	defer out.release()
	i := 0
	for _, batch := range p.Rows.List {
		for row := range int(batch.NumRows()) {
			written, err := p.decide(ctx, i, place{batch, row}, hits)
			if err == nil && written.batch != nil {
				count++
				err = out.add(ctx, written)
			}
			if err != nil {
				return 0, nil, err
			}
			i++
		}
	}
	return count, hits.Rows(), out.finish(ctx)
}

// hold is an error if a proposed row is none that the table takes (OX3).
func (p *Proposal) hold(ctx context.Context) error {
	for _, batch := range p.Rows.List {
		for i, f := range p.Rule.table.Columns.Fields() {
			if !f.Nullable && batch.Column(i).NullN() > 0 {
				return ingest.NotNull(p.Rule.table.Name, f.Name)
			}
		}
		if p.Check != nil {
			if err := p.check(ctx, batch); err != nil {
				return err
			}
		}
	}
	return nil
}

// check holds proposed rows, which lie as DuckDB gave them, to the table's checks.
func (p *Proposal) check(ctx context.Context, batch arrow.RecordBatch) error {
	laid, err := ingest.LayOut(ctx, batch, p.Rule.table.Columns, duckdb.Outside)
	if err != nil {
		return err
	}
	defer laid.Release()
	return p.Check(ctx, laid)
}

// look finds the rows of the table that have the keys of proposed ones.
func (p *Proposal) look(ctx context.Context) error {
	p.there = make([]int64, p.Rows.Rows)
	for i := range p.there {
		p.there[i] = none
	}
	var chunks []catalog.Position
	for c, err := range p.Version.Chunks(ctx) {
		if err != nil {
			return err
		}
		chunks = append(chunks, c)
	}
	for _, k := range p.Rule.arbiters {
		a := arbiter{Key: k, own: map[key.Sum]struct{}{}}
		sought := key.Seek(p.Rows.Rows, k.NullsNotDistinct)
		for _, batch := range p.Rows.List {
			columns, err := a.columns(batch, p.Version.Table().Columns)
			if err != nil {
				return err
			}
			if err := sought.Add(columns, nil, nil, func(_ int, sum key.Sum, known bool) {
				a.sums, a.known = append(a.sums, sum), append(a.known, known)
			}); err != nil {
				return err
			}
		}
		found := map[key.Sum]int64{}
		hit := func(number int64, sum key.Sum, _ func() string) bool {
			found[sum] = number
			return len(found) < len(sought.Sums)
		}
		if err := p.Keys.Find(ctx, p.Version, k.Positions(), chunks, sought, hit); err != nil {
			return err
		}
		for i, sum := range a.sums {
			if number, ok := found[sum]; ok && a.known[i] && p.there[i] == none {
				p.there[i] = number
			}
		}
		p.arbiters = append(p.arbiters, a)
	}
	return nil
}

// columns are those of the key as the table has them: they live as long as the batch.
func (a *arbiter) columns(batch arrow.RecordBatch, table *arrow.Schema) ([]arrow.Array, error) {
	list := make([]arrow.Array, len(a.Positions()))
	for i, at := range a.Positions() {
		column, err := ingest.Coded(batch.Column(at), table.Field(at))
		if err != nil {
			return nil, err
		}
		if list[i] = column; column == batch.Column(at) {
			column.Release() // the batch keeps it; codes are in Go's memory
		}
	}
	return list, nil
}

// decide is what row i becomes: nothing if the batch is nil (OX2).
func (p *Proposal) decide(ctx context.Context, i int, row place, hits *rewrite.Hits) (place, error) {
	update := p.Rule.head.Conflict.Update
	for _, a := range p.arbiters {
		if _, own := a.own[a.sums[i]]; !own || !a.known[i] {
			continue
		}
		if !update {
			return place{}, nil
		}
		return place{}, sqlerror.New("21000", "ON CONFLICT DO UPDATE command cannot affect row a second time").
			WithHint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
	}
	number := p.there[i]
	if number != none && !hits.Has(number) {
		became, ok := p.became[i]
		if !update || !ok { // or its condition does not hold
			return place{}, nil
		}
		if _, err := hits.Note(ctx, number); err != nil {
			return place{}, err
		}
		for k, of := range became.keys {
			if of.known {
				p.arbiters[k].own[of.sum] = struct{}{}
			}
		}
		return became.place, nil
	}
	for _, a := range p.arbiters {
		if a.known[i] {
			a.own[a.sums[i]] = struct{}{}
		}
	}
	return row, nil
}

// ask has DuckDB work out what pairs become.
func (p *Proposal) ask(ctx context.Context) error {
	pairs, err := p.pairs(ctx)
	if err != nil {
		return err
	}
	defer pairs.Release()
	p.became = map[int]change{}
	if pairs.Rows == 0 {
		return nil
	}
	number := p.Conn.Register(pairs.Scan(p.pairSchema(pairs.List[0].Schema())))
	defer p.Conn.Forget(number)
	text, err := p.Rule.query(duckdb.ScanCall(number))
	if err != nil {
		return err
	}
	text, numbers := dialect.Dense(text)
	return p.Each(ctx, text, numbers.Pick(p.Args), func(batch arrow.RecordBatch) error {
		return p.note(ctx, batch)
	})
}

// note keeps what pairs became.
func (p *Proposal) note(ctx context.Context, batch arrow.RecordBatch) error {
	last := int(batch.NumCols()) - 1
	numbers, ok := batch.Column(last).(*array.Int64)
	if !ok || numbers.NullN() > 0 {
		return sqlerror.New("XX000", "pairs without numbers: %v", batch.Column(last).DataType())
	}
	columns := make([]int, last)
	for i := range columns {
		columns[i] = i
	}
	plain := duckdb.Project(batch, columns)
	defer plain.Release()
	rows, err := ingest.Fit(ctx, plain, p.limits)
	if err != nil {
		return err
	}
	defer rows.Release()
	if err := p.updated.Keep(rows); err != nil {
		return err
	}
	list := numbers.Int64Values()
	changes := make([]change, len(list))
	for row := range changes {
		changes[row] = change{place: place{rows, row}, keys: make([]owned, len(p.arbiters))}
	}
	for k, a := range p.arbiters {
		columns, err := a.columns(rows, p.Version.Table().Columns)
		if err != nil {
			return err
		}
		if err := key.Each(columns, a.NullsNotDistinct, func(row int, sum key.Sum, known bool) {
			changes[row].keys[k] = owned{sum, known}
		}); err != nil {
			return err
		}
	}
	for row, i := range list {
		p.became[int(i)] = changes[row]
	}
	return nil
}
