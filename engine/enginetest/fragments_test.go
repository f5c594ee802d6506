package enginetest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
)

// parted are tables of DuckDB's own, each whole and once more in parts, a table for each node. It runs distributed plans as a
// cluster would: fragments over parts, results through Arrow, the rest over those.
type parted struct {
	twin      *native
	relations map[string]*plan.Relation // by lower-case name
	layouts   map[*plan.Relation]*distribute.Layout
	views     map[string]*plan.Relation // tables as a node happens to see them: in an order of its own
	memory    memory.Allocator
	restless  bool              // nodes see rows of whole tables in orders of their own
	guess     func(int64) int64 // instead of estimates; nil: none
}

func newParted(twin *native) *parted {
	return &parted{
		twin: twin, relations: map[string]*plan.Relation{}, layouts: map[*plan.Relation]*distribute.Layout{},
		views: map[string]*plan.Relation{}, memory: mallocator.NewMallocator(),
	}
}

// Relation resolves names as the engine would.
func (p *parted) Relation(catalog, schema, table string) *plan.Relation {
	if catalog != "" || schema != "" && schema != "public" {
		return nil
	}
	return p.relations[strings.ToLower(table)]
}

// Layout says how split has laid a table out.
func (p *parted) Layout(r *plan.Relation) *distribute.Layout { return p.layouts[r] }

func partName(table, node string) string {
	return duckdb.QuoteIdentifier("part " + strings.ToLower(table) + " " + node)
}

// describe makes a relation of a table that is there.
func (p *parted) describe(table string) error {
	o := p.twin.query("SELECT count(*) FROM "+duckdb.QuoteIdentifier(table), nil)
	if o.state != "" {
		return fmt.Errorf("%s", o.message)
	}
	st, err := p.twin.conn.Prepare("SELECT * FROM " + duckdb.QuoteIdentifier(table))
	if err != nil {
		return err
	}
	defer st.Close()
	schema, err := st.Schema()
	if err != nil {
		return err
	}
	rows, _ := strconv.ParseInt(o.rows[0], 10, 64)
	r := &plan.Relation{Schema: "public", Name: table, Rows: rows, Guess: p.guess}
	for _, f := range schema.Fields() {
		r.Columns = append(r.Columns, plan.Column{Name: f.Name, Type: f.Type})
	}
	delete(p.layouts, p.relations[strings.ToLower(table)])
	p.relations[strings.ToLower(table)] = r
	return nil
}

// split lays a table out over nodes. By rows: every row goes where bucket, an expression that gives 0 … len(nodes)-1, says; by hash
// if columns are given.
func (p *parted) split(table string, nodes []string, bucket string, columns ...string) error {
	r := p.relations[strings.ToLower(table)]
	l := &distribute.Layout{Split: distribute.Split{By: distribute.ByRows}}
	if len(columns) > 0 {
		l.Split = distribute.Split{By: distribute.ByHash, Columns: columns, Nodes: nodes}
		list := make([]string, len(columns))
		for i, c := range columns {
			list[i] = duckdb.QuoteIdentifier(c)
		}
		bucket = fmt.Sprintf("hash(%s) %% %d", strings.Join(list, ", "), len(nodes))
	}
	for i, node := range nodes {
		name := partName(table, node)
		sql := fmt.Sprintf("CREATE OR REPLACE TABLE %s AS SELECT * FROM %s WHERE %s = %d", name, duckdb.QuoteIdentifier(table), bucket, i)
		if err := p.twin.conn.Exec(sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		o := p.twin.query("SELECT count(*) FROM "+name, nil)
		rows, _ := strconv.ParseInt(o.rows[0], 10, 64)
		l.Parts = append(l.Parts, distribute.Part{Node: node, Rows: rows, Bytes: rows * 50})
	}
	p.layouts[r] = l
	return nil
}

// stages are the results of a plan's stages so far, by number.
type stages map[int]*staged

type staged struct {
	schema  *arrow.Schema
	batches [][]arrow.RecordBatch // by fragment
	parts   [][]arrow.RecordBatch // by partition, of a shuffle
}

// run runs a distributed plan.
func (p *parted) run(d *distribute.Distributed, args []any) outcome {
	done := stages{}
	defer done.release()
	for i := range d.Stages {
		s := &d.Stages[i]
		result := &staged{}
		done[s.Number] = result
		for _, f := range s.Fragments {
			batches, schema, err := p.fragment(&s.Text, &f, done, args)
			result.batches = append(result.batches, batches)
			if err != nil {
				o := failed(err)
				o.message = "stage " + fmt.Sprint(s.Number) + ": " + o.message
				return o
			}
			if schema.NumFields() != s.Columns {
				return failed(fmt.Errorf("stage %d gives %d columns and not %d", s.Number, schema.NumFields(), s.Columns))
			}
			result.schema = schema
		}
		if err := p.partition(result, s.Shuffle); err != nil {
			return failed(err)
		}
	}
	st, release, err := p.prepare(&d.Final, nil, done)
	defer release()
	if err != nil {
		o := failed(err)
		o.message = "final: " + o.message
		return o
	}
	return p.answer(d.Final.SQL, st, arguments(&d.Final, args))
}

// partition writes a stage's rows in partitions, by the function by which split splits tables.
func (p *parted) partition(s *staged, by *distribute.Shuffle) error {
	if by == nil {
		return nil
	}
	columns := make([]string, len(by.Columns))
	for i, c := range by.Columns {
		columns[i] = fmt.Sprintf("c%d", c)
	}
	number := p.twin.conn.Register(s.scan())
	defer p.twin.conn.Forget(number)
	for i := range by.Partitions {
		sql := fmt.Sprintf("SELECT * FROM csm_scan(%d) WHERE hash(%s) %% %d = %d", number, strings.Join(columns, ", "), by.Partitions, i)
		st, err := p.twin.conn.Prepare(sql)
		if err != nil {
			return fmt.Errorf("%w: %s", err, sql)
		}
		batches, _, err := p.collect(st, nil)
		s.parts = append(s.parts, batches)
		st.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func arguments(t *distribute.Text, args []any) (list []any) {
	for _, n := range t.Parameters {
		list = append(list, args[n-1])
	}
	return list
}

// prepare readies a text the way the engine does: plan.Scans finds the tables in it. Of a fragment, the restricted ones are its
// part's tables.
func (p *parted) prepare(t *distribute.Text, f *distribute.Fragment, done stages) (*duckdb.Statement, func(), error) {
	numbers := []uint64{}
	var st *duckdb.Statement
	release := func() {
		if st != nil {
			st.Close()
		}
		for _, n := range numbers {
			p.twin.conn.Forget(n)
		}
	}
	tree, err := pg.Parse(t.SQL)
	if err != nil {
		return nil, release, fmt.Errorf("%w: %s", err, t.SQL)
	}
	scans, err := plan.Read(t.SQL, tree, plan.ResolverFunc(func(catalog, schema, table string) *plan.Relation {
		if n, ok := strings.CutPrefix(table, "csm_stage_"); ok {
			number, _ := strconv.Atoi(n)
			return relationOfStage(done[number].schema, table)
		}
		return p.Relation(catalog, schema, table)
	})).Scans()
	if err != nil {
		return nil, release, err
	}
	for _, r := range t.Reads {
		if !slices.ContainsFunc(scans, func(s plan.Scan) bool { return s.Start == r.Start && s.End == r.End }) {
			return nil, release, fmt.Errorf("no scan where the plan reads %v: %s", r, t.SQL)
		}
	}
	sql, _ := plan.Splice(t.SQL, scans, func(_ int, s *plan.Scan) string {
		if n, ok := strings.CutPrefix(s.Relation.Name, "csm_stage_"); ok {
			number, _ := strconv.Atoi(n)
			scan := done[number].scan()
			if t.Restricted(s.Start) {
				scan = scanOfBatches(done[number].schema, done[number].parts[f.Partition])
			}
			n := p.twin.conn.Register(scan)
			numbers = append(numbers, n)
			return fmt.Sprintf("csm_scan(%d)", n)
		}
		if t.Restricted(s.Start) {
			return p.partOf(s.Relation, f.Part)
		}
		if f != nil && p.restless {
			return p.seenFrom(s.Relation, f.Part)
		}
		return duckdb.QuoteIdentifier(s.Relation.Name)
	})
	if st, err = p.twin.conn.Prepare(sql); err != nil {
		return nil, release, fmt.Errorf("%w: %s", err, sql)
	}
	return st, release, nil
}

func relationOfStage(schema *arrow.Schema, name string) *plan.Relation {
	r := &plan.Relation{Name: name, Rows: 1}
	for _, f := range schema.Fields() {
		r.Columns = append(r.Columns, plan.Column{Name: f.Name, Type: f.Type})
	}
	return r
}

// seenFrom is the whole table with its rows in an order that only that node sees: no order is promised.
func (p *parted) seenFrom(r *plan.Relation, node string) string {
	name := duckdb.QuoteIdentifier("seen " + strings.ToLower(r.Name) + " " + node)
	if p.views[name] != r {
		if p.twin.exec(fmt.Sprintf("CREATE OR REPLACE TABLE %s AS SELECT * FROM %s ORDER BY hash(rowid, %s)", name, duckdb.QuoteIdentifier(r.Name), duckdb.QuoteLiteral(node))).state != "" {
			return duckdb.QuoteIdentifier(r.Name)
		}
		p.views[name] = r
	}
	return name
}

// partOf is the table that has what of r lies on a node; nothing does.
func (p *parted) partOf(r *plan.Relation, node string) string {
	if slices.ContainsFunc(p.layouts[r].Parts, func(l distribute.Part) bool { return l.Node == node }) {
		return partName(r.Name, node)
	}
	return "(SELECT * FROM " + duckdb.QuoteIdentifier(r.Name) + " LIMIT 0)"
}

// fragment runs a fragment and keeps its rows where DuckDB can read them: outside of Go's heap.
func (p *parted) fragment(t *distribute.Text, f *distribute.Fragment, done stages, args []any) (out []arrow.RecordBatch, schema *arrow.Schema, err error) {
	st, release, err := p.prepare(t, f, done)
	defer release()
	if err != nil {
		return nil, nil, err
	}
	return p.collect(st, arguments(t, args))
}

func (p *parted) collect(st *duckdb.Statement, args []any) (out []arrow.RecordBatch, schema *arrow.Schema, err error) {
	if err := st.Bind(args); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeMax)
	defer cancel()
	rows, err := st.Execute(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	fields := rows.Schema().Fields()
	for i := range fields {
		fields[i].Type = wideDecimal(fields[i].Type)
	}
	schema = arrow.NewSchema(fields, nil)
	for count := 0; ; {
		b, err := rows.Next()
		if err == io.EOF {
			return out, schema, nil
		}
		if err != nil {
			return out, nil, err
		}
		if count += int(b.NumRows()); count > 4*rowsMax {
			b.Release()
			return out, nil, errTooMany
		}
		out = append(out, p.copied(b, schema))
		b.Release()
	}
}

type tooManyRows struct{}

func (tooManyRows) Error() string    { return "too many rows to compare" }
func (tooManyRows) SQLState() string { return tooMany.state }

var errTooMany = tooManyRows{}

// wideDecimal: decimals of up to 18 digits are decimal64 wherever the engine keeps rows.
func wideDecimal(t arrow.DataType) arrow.DataType {
	if d, ok := t.(*arrow.Decimal32Type); ok {
		return &arrow.Decimal64Type{Precision: d.Precision, Scale: d.Scale}
	}
	return t
}

func (p *parted) copied(b arrow.RecordBatch, schema *arrow.Schema) arrow.RecordBatch {
	columns := make([]arrow.Array, b.NumCols())
	for i, c := range b.Columns() {
		if narrow, ok := c.(*array.Decimal32); ok {
			columns[i] = p.widened(narrow, schema.Field(i).Type.(*arrow.Decimal64Type))
		} else {
			data := p.copyData(c.Data())
			columns[i] = array.MakeFromData(data)
			data.Release()
		}
		defer columns[i].Release()
	}
	return array.NewRecordBatch(schema, columns, b.NumRows())
}

func (p *parted) widened(c *array.Decimal32, to *arrow.Decimal64Type) arrow.Array {
	b := array.NewDecimal64Builder(p.memory, to)
	defer b.Release()
	for i := range c.Len() {
		if c.IsNull(i) {
			b.AppendNull()
		} else {
			b.Append(decimal.Decimal64(c.Value(i)))
		}
	}
	return b.NewArray()
}

func (p *parted) copyData(d arrow.ArrayData) arrow.ArrayData {
	buffers := make([]*memory.Buffer, len(d.Buffers()))
	for i, from := range d.Buffers() {
		if from == nil {
			continue
		}
		buffers[i] = memory.NewResizableBuffer(p.memory)
		buffers[i].Resize(from.Len())
		copy(buffers[i].Bytes(), from.Bytes())
		defer buffers[i].Release()
	}
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = p.copyData(c)
		defer children[i].Release()
	}
	return array.NewData(d.DataType(), d.Len(), buffers, children, d.NullN(), d.Offset())
}

// scan shows a stage's rows as a table: all of them, in the order of the fragments.
func (s *staged) scan() *duckdb.Scan {
	return scanOfBatches(s.schema, slices.Concat(s.batches...))
}

func scanOfBatches(schema *arrow.Schema, batches []arrow.RecordBatch) *duckdb.Scan {
	out := &duckdb.Scan{Schema: schema, Chunks: len(batches)}
	for _, b := range batches {
		out.Rows += b.NumRows()
	}
	out.Open = func(chunk int, columns []int) (arrow.RecordBatch, error) {
		b := batches[chunk]
		fields := make([]arrow.Field, len(columns))
		arrays := make([]arrow.Array, len(columns))
		for i, c := range columns {
			fields[i], arrays[i] = b.Schema().Field(c), b.Column(c)
		}
		return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, b.NumRows()), nil
	}
	return out
}

func (done stages) release() {
	for _, s := range done {
		for _, b := range slices.Concat(slices.Concat(s.batches...), slices.Concat(s.parts...)) {
			b.Release()
		}
	}
}

// zeros in lists: as in cell, -0 is 0.
var negativeZeros = strings.NewReplacer("[-0,", "[0,", "[-0]", "[0]", ",-0,", ",0,", ",-0]", ",0]")

// loose are a result's rows with floating point numbers cut to what does not depend on the order of additions.
func loose(o outcome) outcome {
	o.rows = slices.Clone(o.rows)
	for i, r := range o.rows {
		cells := strings.Split(negativeZeros.Replace(negativeZeros.Replace(r)), " | ") // twice: ,-0,-0, overlaps
		for c := range cells {
			if v, err := strconv.ParseFloat(cells[c], 64); err == nil && strings.ContainsAny(cells[c], ".eE") {
				cells[c] = strconv.FormatFloat(v, 'g', 11, 64)
			}
		}
		o.rows[i] = strings.Join(cells, " | ")
	}
	return o
}

// sameAnswer says how the answer of a plan differs from the single node's. Names are the single node's (the planner's D3): they are
// not compared, types are.
func sameAnswer(got, want outcome, ordered bool) string {
	if got.tooLarge() || want.tooLarge() || got.ownFault() {
		return ""
	}
	return loose(got).differs(loose(want), ordered)
}

// ownFault reports whether DuckDB 1.5 has failed inside, as it does on some joins of small tables, also without us.
func (o outcome) ownFault() bool {
	return o.state == "XX000" && strings.Contains(o.message, "Failed to bind column reference")
}

// typed has columns without their names.
func (o outcome) typed(schema *arrow.Schema) outcome {
	if o.state != "" {
		return o
	}
	o.columns = nil
	for _, f := range schema.Fields() {
		mark, _ := f.Metadata.GetValue("ARROW:extension:name")
		o.columns = append(o.columns, strings.TrimSpace(typeText(f.Type)+" "+mark))
	}
	return o
}

// single asks the whole statement of the whole tables.
func (p *parted) single(sql string, args []any) outcome {
	st, err := p.twin.conn.Prepare(sql)
	if err != nil {
		return failed(err)
	}
	defer st.Close()
	return p.answer(sql, st, args)
}

func (p *parted) answer(sql string, st *duckdb.Statement, args []any) outcome {
	o := within(sql, func(ctx context.Context) outcome { return p.twin.run(ctx, st, args) })
	if o.state != "" {
		return o
	}
	schema, err := st.Schema()
	if err != nil {
		return failed(err)
	}
	return o.typed(schema)
}

// planOf plans a statement, whatever it costs.
func (p *parted) planOf(t testing.TB, sql string, s distribute.Settings) (*distribute.Distributed, *distribute.Single) {
	sql = plainText(sql)
	tree, err := pg.Parse(sql)
	if err != nil {
		return nil, &distribute.Single{Reason: "PostgreSQL's parser does not take it"}
	}
	s.Guess = p.guess
	return distribute.Plan(plan.Read(sql, tree, p), p, s)
}
