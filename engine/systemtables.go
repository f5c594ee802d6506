package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/history"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/counted"
)

// The schema csm shows what lies where and what was read, as tables that are made when they are asked:
//
//	csm.nodes     the cluster's nodes, or this one
//	csm.regions   lent memory
//	csm.tables    tables and how their bytes lie over the nodes; how many chunks lack replicas, or can be read nowhere; where rows came from
//	csm.chunks    every chunk with its node, region and place, where it lies, too, and where its rows came from
//	csm.holders   who holds what of this node's region: versions of tables, sessions, loads, other nodes (package custody); without a name: nobody
//	csm.memory    what clients make the node keep, by session and kind (package account); what DuckDB and Go have, of no session
//	csm.queries   the latest statements of this node: rows, bytes read here and elsewhere, fragments; other users' texts not to a Guest
//
// DuckDB sees views over csm_table, as it does for ordinary tables.

// systemTable is one of them.
type systemTable struct {
	columns *arrow.Schema
	rows    func(ctx context.Context, s *Session, add func(values ...any)) error
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
	whenType  = &arrow.TimestampType{Unit: arrow.Microsecond}
)

var systemTables = map[string]systemTable{
	"nodes": {columnsOf("name", textType, "self", flagType, "state", textType, "address", textType, "frontend", textType,
		"started", whenType, "oldest_revision", countType), systemNodes},
	"regions": {columnsOf("region", countType, "node", textType, "available", flagType, "fabric", textType, "base", countType,
		"capacity", countType, "bytes", countType, "path", textType), systemRegions},
	"tables": {columnsOf("schema", textType, "name", textType, "rows", countType, "bytes", countType, "chunks", countType,
		"version", countType, "nodes", textType, "placement", textType, "replicas", countType, "incomplete", countType,
		"missing", countType, "source", textType), systemTablesOf},
	"chunks": {columnsOf("schema", textType, "name", textType, "chunk", countType, "first_row", countType, "rows", countType,
		"bytes", countType, "node", textType, "region", countType, "position", countType, "generation", countType, "replicas", countType, "others", textType,
		"source", textType), systemChunks},
	"holders": {columnsOf("region", countType, "holder", textType, "extents", countType, "bytes", countType), systemHolders},
	"memory":  {columnsOf("session", countType, "user", textType, "kind", textType, "bytes", countType), systemMemory},
	"queries": {columnsOf("started", whenType, "user", textType, "query", textType, "milliseconds", arrow.PrimitiveTypes.Float64,
		"rows", countType, "bytes_local", countType, "bytes_remote", countType, "fragments", countType, "error", textType, "overdue", flagType), systemQueries},
}

// systemColumns are the columns of the tables, by their names.
func systemColumns() map[string]*arrow.Schema {
	columns := make(map[string]*arrow.Schema, len(systemTables))
	for name, t := range systemTables {
		columns[name] = t.columns
	}
	return columns
}

// systemScan gives a system table's rows as they are now.
func systemScan(s *Session, name string) (*duckdb.Scan, bool) {
	t, ok := systemTables[strings.ToLower(name)]
	if !ok {
		return nil, false
	}
	scan := &duckdb.Scan{Schema: t.columns, Rows: 1, Chunks: 1}
	scan.Open = func(_ int, columns []int) (arrow.RecordBatch, error) {
		batch, err := t.batch(context.Background(), s)
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

func (t systemTable) batch(ctx context.Context, s *Session) (arrow.RecordBatch, error) {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), t.columns)
	defer b.Release()
	err := t.rows(ctx, s, func(values ...any) {
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

func systemNodes(_ context.Context, s *Session, add func(...any)) error {
	e := s.engine
	if e.node == nil || e.node.Self == nil {
		add(e.config.Node, true, "online", "", "", e.started, int64(s.visible.contents.Revision()))
		return nil
	}
	for _, m := range e.catalog.Members() {
		self, state := m.Name == e.config.Node, m.State.String()
		if self && e.catalog.Standing() != nil {
			state = "unsure" // the others may have given it up, which it has not heard; it does not know what they are up to, either
		}
		add(m.Name, self, state, m.Address, m.Frontend, m.Started, int64(m.Oldest))
	}
	return nil
}

func systemRegions(ctx context.Context, s *Session, add func(...any)) error {
	e := s.engine
	if e.catalog == nil {
		return nil // a borrower asks its node
	}
	used := map[uint64]int64{}
	for _, t := range s.visible.everyTable() {
		chunks, err := e.facts.Chunks(ctx, t)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			for i := range c.Replicas() {
				used[uint64(c.Extent(i).Region)] += c.Bytes
			}
		}
	}
	for _, r := range e.catalog.Regions() {
		_, there := e.catalog.Reachable(r.ID)
		if e.reader.Lost(r.ID) != nil {
			there = false
		}
		add(int64(r.ID), r.Node, there, string(r.Fabric), int64(r.Base), r.Capacity, used[uint64(r.ID)], r.Path)
	}
	return nil
}

func systemTablesOf(ctx context.Context, s *Session, add func(...any)) error {
	for _, t := range s.visible.everyTable() {
		nodes, incomplete, missing := s.engine.config.Node, int64(0), int64(0)
		if s.engine.catalog != nil {
			layout, err := s.engine.split.Layout(t)
			if err != nil {
				return err
			}
			var names []string
			for _, p := range layout.Parts {
				names = append(names, fmt.Sprintf("%s: %s", p.Node, counted.Of(p.Rows, "row")))
			}
			nodes = strings.Join(names, ", ")
			if incomplete, err = s.engine.upkeep.Incomplete(ctx, t); err != nil {
				return err
			}
			lost, err := s.engine.upkeep.Lost(ctx, t, upkeep.Unreadable)
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

func systemChunks(ctx context.Context, s *Session, add func(...any)) error {
	for _, t := range s.visible.everyTable() {
		name, source := t.Table().Name, upkeep.SourceOf(t)
		for p, err := range t.Chunks(ctx) {
			if err != nil {
				return err
			}
			first, one := &p.Descriptor().Extents[0], p.Descriptor().Replica(0)
			add(name.Schema, name.Name, int64(p.Index), p.FirstRow, p.Rows(), one.Bytes(), s.engine.reader.NodeOf(one),
				int64(first.Region), first.Range.Offset, int64(first.Generation), int64(p.Replicas()), s.engine.upkeep.Others(p.Descriptor()),
				source(p.Index))
		}
	}
	return nil
}

func systemHolders(_ context.Context, s *Session, add func(...any)) error {
	e := s.engine
	if e.node == nil {
		return nil // a borrower asks its node
	}
	for _, h := range e.node.Holders() {
		add(int64(e.node.Region.ID), h.Holder, h.Extents, h.Bytes)
	}
	return nil
}

func systemMemory(_ context.Context, s *Session, add func(...any)) error {
	for _, c := range s.engine.account.List() {
		if c.Kind == account.Facts {
			add(nil, "", c.Kind, c.Bytes)
			continue
		}
		add(int64(c.Session), c.User, c.Kind, c.Bytes)
	}
	for _, other := range s.engine.openSessions() {
		if bytes := other.parked.Bytes(); bytes > 0 {
			add(int64(other.options.ProcessID), other.options.User, "parked", bytes)
		}
	}
	ofC, ofGo := duckdb.ProcessMemory()
	add(nil, "", "duckdb", ofC)
	add(nil, "", "go", ofGo)
	return nil
}

func systemQueries(_ context.Context, s *Session, add func(...any)) error {
	list := s.engine.history.List()
	for _, o := range s.engine.overdue.List() {
		list = append(list, history.Query{Started: o.Since, Took: time.Since(o.Since), User: o.User, Text: o.Text, Failure: o.Reason, Overdue: true})
	}
	for _, q := range list {
		if s.options.Guest && q.User != s.options.User {
			q.Text = insufficientPrivilege
			if q.Failure != "" {
				q.Failure = insufficientPrivilege // it may quote values
			}
		}
		add(q.Started, q.User, q.Text, float64(q.Took.Microseconds())/1000, q.Rows, q.Local, q.Remote, q.Fragments, q.Failure, q.Overdue)
	}
	return nil
}

// insufficientPrivilege is what PostgreSQL shows in the place of another user's text.
const insufficientPrivilege = "<insufficient privilege>"

// remember keeps a query for csm.queries once it has ended.
func (s *Session) remember(text string, started time.Time, rows *Rows, err error) {
	past := history.Query{Started: started, User: s.options.User, Text: text}
	if err != nil {
		past.Took, past.Failure = time.Since(started), err.Error()
		s.engine.history.Add(past)
		return
	}
	rows.onClose(func() {
		past.Took, past.Rows = time.Since(started), rows.count
		if rows.err != nil {
			past.Failure = rows.err.Error()
		}
		if read := rows.volume; read != nil {
			past.Local, past.Remote = read.Local.Load(), read.Remote.Load()
			s.engine.counts.read(noderpc.FragmentProgress{BytesLocal: past.Local, BytesRemote: past.Remote})
		}
		if rows.split != nil {
			read, fragments := rows.split.Read()
			past.Local, past.Remote, past.Fragments = past.Local+read.BytesLocal, past.Remote+read.BytesRemote, fragments
		}
		s.engine.history.Add(past)
	})
}
