package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/bench/serving"
	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

var benchTable = catalog.TableName{Schema: "public", Name: "t"}

// nodeHello is how the node process is reached.
type nodeHello struct {
	Socket string // node RPC
	Copies string // unix socket: a whole Arrow IPC copy
	Flight string // host:port: Arrow Flight
	Region string // file of the lent region
}

// loaded is what a load made.
type loaded struct {
	Bytes  int64 // extents of the table
	Chunks int64
	Commit time.Duration // of a table of many chunks
}

// startNode starts the process that owns the table.
func startNode(ctx context.Context, o Options, regionBytes int64) (*process, nodeHello, error) {
	var hello nodeHello
	p, err := start(ctx, &hello, "node", strconv.FormatInt(regionBytes, 10), strconv.Itoa(o.Threads))
	if err != nil {
		return nil, hello, err
	}
	p.name = "the node"
	return p, hello, nil
}

// nodeRole is a node with one table at a time, and its peers.
func nodeRole(ctx context.Context, args []string, talk *conversation) (err error) {
	regionBytes, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	threads, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	dir, err := serving.Directory("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e, closeEngine, err := openEngine(ctx, engine.Config{RegionBytes: regionBytes, Threads: threads})
	if err != nil {
		return errors.Join(talk.answer(nil, err), err)
	}
	defer func() { err = errors.Join(err, closeEngine()) }()
	ctx, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	hello, closers, err := serveNode(ctx, group, e, dir)
	defer func() {
		stop()
		for _, closer := range closers {
			closer()
		}
		err = errors.Join(err, group.Wait())
	}()
	hello.Region = e.Status(noderpc.Frontend{}).Regions[0].Path
	if err := errors.Join(talk.answer(hello, err), err); err != nil {
		return err
	}
	return loadOnRequest(ctx, e, talk)
}

// serveNode starts listening: node RPC, whole copies, Flight.
func serveNode(ctx context.Context, group *errgroup.Group, e *engine.Engine,
	dir string) (h nodeHello, closers []func(), err error) {
	h.Socket, h.Copies = filepath.Join(dir, "node.sock"), filepath.Join(dir, "copies.sock")
	rpc, err := noderpc.ListenUnix(h.Socket)
	if err != nil {
		return h, nil, err
	}
	server := noderpc.NewServer(e.Service(noderpc.Frontend{}), noderpc.ServerOptions{Name: "bench"})
	group.Go(func() error { return server.Serve(ctx, rpc) })
	source := func(ctx context.Context) ([]arrow.RecordBatch, func() error, error) {
		a, err := borrowTable(ctx, h.Socket, benchTable)
		if err != nil {
			return nil, nil, err
		}
		return a.batches, a.close, nil
	}
	copies, err := net.Listen("unix", h.Copies)
	if err != nil {
		return h, nil, err
	}
	group.Go(func() error { return serveCopies(ctx, copies, source) })
	closers = append(closers, func() { copies.Close() })
	flights, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return h, closers, err
	}
	h.Flight = flights.Addr().String()
	flying := newFlight(flights, source)
	group.Go(flying.Serve)
	return h, append(closers, flying.Shutdown), nil
}

// loadOnRequest makes and drops tables.
func loadOnRequest(ctx context.Context, e *engine.Engine, talk *conversation) error {
	session, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	defer session.Close()
	for r := range talk.requests {
		var made loaded
		var err error
		switch r.Do {
		case "load":
			if _, err = session.Exec(ctx, "DROP TABLE IF EXISTS t; "+createTable(r.Rows, r.Skew)); err == nil {
				made, err = measureTable(e)
			}
		case "chunks":
			if _, err = session.Exec(ctx, "DROP TABLE IF EXISTS t"); err == nil {
				made.Commit, err = assembleChunks(ctx, e, r.Rows, r.Skew)
			}
		case "drop":
			_, err = session.Exec(ctx, "DROP TABLE t")
		default:
			err = fmt.Errorf("the node cannot %q", r.Do)
		}
		if err := talk.answer(made, err); err != nil {
			return err
		}
	}
	return nil
}

// assembleChunks makes the table with a chunk for each row, and times the commit.
func assembleChunks(ctx context.Context, e *engine.Engine, chunks int64, skew bool) (took time.Duration, err error) {
	columns := []arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int8}, {Name: "c", Type: arrow.PrimitiveTypes.Uint16}}
	a, err := e.Assemble(ctx, engine.AssembleOptions{Table: benchTable, Columns: arrow.NewSchema(columns, nil)})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, a.Abort()) }()
	part, err := a.Part(ctx, "", 0)
	if err != nil {
		return 0, err
	}
	rows := array.NewRecordBuilder(part.Allocator(), a.Schema())
	defer rows.Release()
	for i := range chunks {
		v := valuesOf(i)
		if skew && i == chunks-1 {
			v.C++
		}
		rows.Field(0).(*array.Int64Builder).Append(v.A)
		rows.Field(1).(*array.Int8Builder).Append(int8(v.B))
		rows.Field(2).(*array.Uint16Builder).Append(uint16(v.C))
		batch := rows.NewRecordBatch()
		err := part.Add(ctx, batch)
		batch.Release()
		if err != nil {
			return 0, err
		}
	}
	begin := time.Now()
	err = a.Commit(ctx)
	return time.Since(begin), err
}

func measureTable(e *engine.Engine) (loaded, error) {
	for _, t := range e.Status(noderpc.Frontend{}).Tables {
		if strings.EqualFold(t.Name, benchTable.Name) {
			return loaded{Bytes: t.Bytes, Chunks: t.Chunks}, nil
		}
	}
	return loaded{}, errors.New("the table that was made is not there")
}
