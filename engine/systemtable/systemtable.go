package systemtable

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/history"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/overdue"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/split"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/counted"
)

// Node is what the tables show.
type Node struct {
	Name    string
	Started time.Time
	Member  *member.Node // nil of a borrower
	Reader  *reader.Reader
	Facts   *facts.Cache
	Keeper  *upkeep.Keeper
	Split   *split.Coordinator // nil of a borrower
	Account *account.Node
	History *history.History
	Overdue *overdue.Places
	// Parked lists results that were read ahead.
	Parked func() []Parked
}

// Parked is what results of a session take that were read ahead.
type Parked struct {
	Session uint32 // its process ID
	User    string
	Bytes   int64
}

// Asked is the user that queries a table, and what that statement sees. Its functions are called while rows are read.
type Asked struct {
	Node  *Node
	User  string
	Guest bool // it is shown no texts of other users
	// Revision is the catalog's, Tables the tables that the statement sees.
	Revision func() catalog.Revision
	Tables   func() []*catalog.TableVersion
	// Versions are those of a table that can be asked for.
	Versions func(*catalog.TableVersion) []catalog.Kept
}

// table is one of the schema.
type table struct {
	columns *arrow.Schema
	rows    func(ctx context.Context, a *Asked, add func(values ...any)) error
}

func columnsOf(list ...any) *arrow.Schema {
	fields := make([]arrow.Field, 0, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		fields = append(fields, arrow.Field{Name: list[i].(string), Type: list[i+1].(arrow.DataType), Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

var (
	textType  = arrow.BinaryTypes.String
	countType = arrow.PrimitiveTypes.Int64
	flagType  = arrow.FixedWidthTypes.Boolean
	zonedType = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	whenType  = &arrow.TimestampType{Unit: arrow.Microsecond}
)

var tables = map[string]table{
	"nodes": {columnsOf("name", textType, "self", flagType, "state", textType, "address", textType, "frontend", textType,
		"started", whenType, "oldest_revision", countType), nodes},
	"regions": {columnsOf("region", countType, "node", textType, "available", flagType, "fabric", textType, "base", countType,
		"capacity", countType, "bytes", countType, "path", textType), regions},
	"tables": {columnsOf("schema", textType, "name", textType, "rows", countType, "bytes", countType,
		"chunks", countType,
		"version", countType, "nodes", textType, "placement", textType, "replicas", countType, "incomplete", countType,
		"missing", countType, "source", textType), tablesOf},
	"versions": {columnsOf("schema", textType, "name", textType, "version", countType, "since", countType,
		"committed_at",
		zonedType,
		"until", zonedType, "cause", textType, "rows", countType, "chunks", countType, "bytes", countType,
		"own_bytes", countType),
		versions},
	"chunks": {columnsOf("schema", textType, "name", textType, "chunk", countType, "first_row", countType, "rows", countType,
		"bytes", countType, "node", textType, "region", countType, "position", countType, "generation", countType,
		"replicas", countType, "others", textType, "source", textType, "deleted", countType,
		"orders", textType), chunks},
	"compactions": {columnsOf("schema", textType, "name", textType, "started", whenType, "milliseconds", arrow.PrimitiveTypes.Float64,
		"running", flagType, "asked", flagType, "chunks_before", countType, "chunks_after", countType, "rows", countType,
		"bytes", countType, "error", textType, "deleted", countType), compactions},
	"holders": {columnsOf("region", countType, "holder", textType, "extents", countType, "bytes", countType), holders},
	"memory":  {columnsOf("session", countType, "user", textType, "kind", textType, "bytes", countType), memoryOf},
	"queries": {columnsOf("started", whenType, "user", textType, "query", textType, "milliseconds", arrow.PrimitiveTypes.Float64,
		"rows", countType, "bytes_local", countType, "bytes_remote", countType, "fragments", countType, "error", textType,
		"overdue", flagType), queries},
}

// Columns are the columns of the tables, by their names.
func Columns() map[string]*arrow.Schema {
	columns := make(map[string]*arrow.Schema, len(tables))
	for name, t := range tables {
		columns[name] = t.columns
	}
	return columns
}

// Has reports whether there is a table of that name.
func Has(name string) bool { return tables[strings.ToLower(name)].rows != nil }

// Scan gives a table's rows as they are when they are read; false: there is none of that name.
func Scan(a *Asked, name string) (*duckdb.Scan, bool) {
	t, ok := tables[strings.ToLower(name)]
	if !ok {
		return nil, false
	}
	scan := &duckdb.Scan{Schema: t.columns, Rows: 1, Chunks: 1}
	scan.Open = func(_ int, columns []int) (arrow.RecordBatch, error) {
		batch, err := t.batch(context.Background(), a)
		if err != nil {
			return nil, err
		}
		defer batch.Release()
		picked := make([]arrow.Array, len(columns))
		fields := make([]arrow.Field, len(columns))
		for i, c := range columns {
			picked[i], fields[i] = batch.Column(c), t.columns.Field(c)
		}
		return array.NewRecordBatch(arrow.NewSchema(fields, nil), picked, batch.NumRows()), nil
	}
	return scan, true
}

func (t table) batch(ctx context.Context, a *Asked) (arrow.RecordBatch, error) {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), t.columns)
	defer b.Release()
	err := t.rows(ctx, a, func(values ...any) {
		for i, v := range values {
			appendValue(b.Field(i), v)
		}
	})
	if err != nil {
		return nil, err
	}
	return b.NewRecordBatch(), nil
}

// appendValue appends nil, and text that is empty, as NULL.
func appendValue(b array.Builder, value any) {
	if value == nil {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.StringBuilder:
		if text := value.(string); text != "" {
			b.Append(text)
		} else {
			b.AppendNull()
		}
	case *array.Int64Builder:
		b.Append(value.(int64))
	case *array.Float64Builder:
		b.Append(value.(float64))
	case *array.BooleanBuilder:
		b.Append(value.(bool))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(value.(time.Time).UnixMicro()))
	}
}

func nodes(_ context.Context, a *Asked, add func(...any)) error {
	n := a.Node
	if n.Member == nil || n.Member.Self == nil {
		add(n.Name, true, "online", "", "", n.Started, int64(a.Revision()))
		return nil
	}
	for _, m := range n.Member.Catalog.Members() {
		self, state := m.Name == n.Name, m.State.String()
		if self && n.Member.Catalog.Standing() != nil {
			state = "unsure" // the others may have given it up, which it has not heard; nor does it know what they are up to
		}
		add(m.Name, self, state, m.Address, m.Frontend, m.Started, int64(m.Oldest))
	}
	return nil
}

func regions(ctx context.Context, a *Asked, add func(...any)) error {
	n := a.Node
	if n.Member == nil {
		return nil // a borrower asks its node
	}
	used := map[uint64]int64{}
	for _, t := range a.Tables() {
		located, err := n.Facts.Chunks(ctx, t)
		if err != nil {
			return err
		}
		for _, c := range located {
			for i := range c.Replicas() {
				used[uint64(c.Extent(i).Region)] += c.Bytes
			}
		}
	}
	for _, r := range n.Member.Catalog.Regions() {
		_, there := n.Member.Catalog.Reachable(r.ID)
		if n.Reader.Lost(r.ID) != nil {
			there = false
		}
		add(int64(r.ID), r.Node, there, string(r.Fabric), int64(r.Base), r.Capacity, used[uint64(r.ID)], r.Path)
	}
	return nil
}

func tablesOf(ctx context.Context, a *Asked, add func(...any)) error {
	for _, t := range a.Tables() {
		nodes, incomplete, missing := a.Node.Name, int64(0), int64(0)
		if a.Node.Member != nil {
			layout, err := a.Node.Split.Layout(t)
			if err != nil {
				return err
			}
			var names []string
			for _, p := range layout.Parts {
				names = append(names, fmt.Sprintf("%s: %s", p.Node, counted.Of(p.Rows, "row")))
			}
			nodes = strings.Join(names, ", ")
			if incomplete, err = a.Node.Keeper.Incomplete(ctx, t); err != nil {
				return err
			}
			lost, err := a.Node.Keeper.Lost(ctx, t, upkeep.Unreadable)
			if err != nil {
				return err
			}
			missing = int64(len(lost))
		}
		name := t.Table().Name
		add(name.Schema, name.Name, t.Rows(), t.Bytes(), int64(t.NumChunks()), int64(t.Version()), nodes, t.Table().Placement,
			int64(max(t.Table().Replicas, 1)), incomplete, missing, upkeep.SourcesOf(t))
	}
	return nil
}

func chunks(ctx context.Context, a *Asked, add func(...any)) error {
	for _, t := range a.Tables() {
		name, source := t.Table().Name, upkeep.SourceOf(t)
		for p, err := range t.Chunks(ctx) {
			if err != nil {
				return err
			}
			gone, err := t.Deleted(ctx, p.Index)
			if err != nil {
				return err
			}
			first, one := &p.Descriptor().Extents[0], p.Descriptor().Replica(0)
			add(name.Schema, name.Name, int64(p.Index), p.FirstRow, p.Rows(), one.Bytes(), a.Node.Reader.NodeOf(one),
				int64(first.Region), first.Range.Offset, int64(first.Generation), int64(p.Replicas()), a.Node.Keeper.Others(p.Descriptor()),
				source(p.Index), gone.Count(), ordersOf(t, p.Chunk))
		}
	}
	return nil
}

func holders(_ context.Context, a *Asked, add func(...any)) error {
	n := a.Node
	if n.Member == nil {
		return nil // a borrower asks its node
	}
	for _, h := range n.Member.Holders() {
		add(int64(n.Member.Region.ID), h.Holder, h.Extents, h.Bytes)
	}
	return nil
}

func compactions(_ context.Context, a *Asked, add func(...any)) error {
	for _, r := range a.Node.Keeper.Compactions().List(time.Now()) {
		add(r.Table.Schema, r.Table.Name, r.Started, float64(r.Took)/float64(time.Millisecond), r.Running, r.Asked,
			int64(r.Folded), int64(r.Made), r.Rows, r.Bytes, r.Failure, r.LeftOut)
	}
	return nil
}

func memoryOf(_ context.Context, a *Asked, add func(...any)) error {
	for _, c := range a.Node.Account.List() {
		if c.Kind == account.Facts {
			add(nil, "", c.Kind, c.Bytes)
			continue
		}
		add(int64(c.Session), c.User, c.Kind, c.Bytes)
	}
	for _, p := range a.Node.Parked() {
		add(int64(p.Session), p.User, "parked", p.Bytes)
	}
	ofC, ofGo := duckdb.ProcessMemory()
	add(nil, "", "duckdb", ofC)
	add(nil, "", "go", ofGo)
	return nil
}

func queries(_ context.Context, a *Asked, add func(...any)) error {
	list := a.Node.History.List()
	for _, o := range a.Node.Overdue.List() {
		list = append(list, history.Query{
			Started: o.Since, Took: time.Since(o.Since), User: o.User, Text: o.Text, Failure: o.Reason, Overdue: true,
		})
	}
	for _, q := range list {
		if a.Guest && q.User != a.User {
			q.Text = insufficientPrivilege
			if q.Failure != "" {
				q.Failure = insufficientPrivilege // it may quote values
			}
		}
		took := float64(q.Took.Microseconds()) / 1000
		add(q.Started, q.User, q.Text, took, q.Rows, q.Local, q.Remote, q.Fragments, q.Failure, q.Overdue)
	}
	return nil
}

// insufficientPrivilege is what PostgreSQL shows in the place of another user's text.
const insufficientPrivilege = "<insufficient privilege>"

// ordersOf names the columns by which a chunk's rows are sorted: a, b; c.
func ordersOf(t *catalog.TableVersion, c *catalog.Chunk) string {
	var orders []string
	for _, columns := range t.Orders(c) {
		names := make([]string, len(columns))
		for i, column := range columns {
			names[i] = t.Table().Columns.Field(column).Name
		}
		orders = append(orders, strings.Join(names, ", "))
	}
	return strings.Join(orders, "; ")
}
