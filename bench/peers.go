package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// The peers of attach: how else a process gets a table of another one. Both carry the same batches, which they read in
// place from the owner's memory, so that only the way differs.

// messageBytes bounds a Flight message; windowBytes lets one be under way whole. gRPC's defaults would only slow Flight
// down.
const (
	messageBytes = 64 << 20
	windowBytes  = 16 << 20
)

// tableSource gives the batches to send, and what to call afterwards.
type tableSource func(ctx context.Context) (batches []arrow.RecordBatch, done func() error, err error)

// serveCopies sends the whole table as an Arrow IPC stream to every client, until the listener is closed.
func serveCopies(ctx context.Context, l net.Listener, source tableSource) error {
	var sending sync.WaitGroup
	defer sending.Wait()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		sending.Go(func() {
			defer conn.Close() // the reader sees a cut stream as an error
			_ = sendCopy(ctx, conn, source)
		})
	}
}

func sendCopy(ctx context.Context, conn net.Conn, source tableSource) error {
	batches, done, err := source(ctx)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(conn, 1<<20)
	w := ipc.NewWriter(buffered, ipc.WithSchema(batches[0].Schema()))
	for _, batch := range batches {
		err = errors.Join(err, w.Write(batch))
	}
	return errors.Join(err, w.Close(), buffered.Flush(), done())
}

// copyTable reads the whole table into memory of mem.
func copyTable(ctx context.Context, socket string, mem memory.Allocator) ([]arrow.RecordBatch, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	r, err := ipc.NewReader(bufio.NewReaderSize(conn, 1<<20), ipc.WithAllocator(mem))
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return collect(r)
}

type batchReader interface {
	Next() bool
	RecordBatch() arrow.RecordBatch
	Err() error
}

func collect(r batchReader) (batches []arrow.RecordBatch, err error) {
	for r.Next() {
		batch := r.RecordBatch()
		batch.Retain()
		batches = append(batches, batch)
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		release(batches)
		return nil, err
	}
	return batches, nil
}

func release(batches []arrow.RecordBatch) {
	for _, batch := range batches {
		batch.Release()
	}
}

// flightServer offers the table by Arrow Flight.
type flightServer struct {
	flight.BaseFlightServer
	source tableSource
}

// DoGet implements flight.FlightServer: there is only one ticket.
func (s *flightServer) DoGet(_ *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	batches, done, err := s.source(stream.Context())
	if err != nil {
		return err
	}
	w := flight.NewRecordWriter(stream, ipc.WithSchema(batches[0].Schema()))
	for _, batch := range batches {
		err = errors.Join(err, w.Write(batch))
	}
	return errors.Join(err, w.Close(), done())
}

func newFlight(l net.Listener, source tableSource) flight.Server {
	s := flight.NewServerWithMiddleware(nil, grpc.MaxSendMsgSize(messageBytes), grpc.InitialWindowSize(windowBytes), grpc.InitialConnWindowSize(windowBytes),
		grpc.WriteBufferSize(1<<20))
	s.InitListener(l)
	s.RegisterFlightService(&flightServer{source: source})
	return s
}

// flyTable reads the whole table by Arrow Flight into memory of mem.
func flyTable(ctx context.Context, address string, mem memory.Allocator) ([]arrow.RecordBatch, error) {
	client, err := flight.NewClientWithMiddlewareCtx(ctx, address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageBytes)), grpc.WithInitialWindowSize(windowBytes), grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithReadBufferSize(1<<20))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	stream, err := client.DoGet(ctx, &flight.Ticket{Ticket: []byte("t")})
	if err != nil {
		return nil, err
	}
	r, err := flight.NewRecordReader(stream, ipc.WithAllocator(mem))
	if err != nil {
		return nil, fmt.Errorf("flight: %w", err)
	}
	defer r.Release()
	return collect(r)
}
