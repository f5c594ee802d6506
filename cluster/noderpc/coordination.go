package noderpc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// coordinationHandlers are those of the service Coordination.
type coordinationHandlers struct {
	nodepb.UnimplementedCoordinationServer
	server *Server
}

func (h coordinationHandlers) Ping(context.Context, *nodepb.PingRequest) (*nodepb.PingResponse, error) {
	return &nodepb.PingResponse{}, nil
}

func (h coordinationHandlers) States(ctx context.Context, m *nodepb.StatesRequest) (*nodepb.StatesResponse, error) {
	states := h.server.options.States
	if states == nil {
		return &nodepb.StatesResponse{}, nil
	}
	if m.GetName() == "" {
		return &nodepb.StatesResponse{States: states.All()}, nil
	}
	if err := checkStateName(m.GetName()); err != nil {
		return nil, badArgument("wait: %v", err)
	}
	leave, err := enter(h.server.waits, "waits for states")
	if err != nil {
		return nil, err
	}
	defer leave()
	patience, cancel := context.WithTimeout(ctx, stateWait)
	defer cancel()
	return &nodepb.StatesResponse{States: states.wait(patience, m.GetName(), m.GetValue())}, ctx.Err()
}

func (h coordinationHandlers) operations() (Operations, error) {
	if h.server.options.Operations == nil {
		return nil, &Error{State: stateFeature, Cause: errNotOffered, Message: fmt.Sprintf("node %s belongs to no cluster", h.server.options.Name)}
	}
	return h.server.options.Operations, nil
}

func (h coordinationHandlers) Drain(ctx context.Context, m *nodepb.DrainRequest) (*nodepb.DrainResponse, error) {
	operations, err := h.operations()
	if err != nil {
		return nil, err
	}
	return &nodepb.DrainResponse{}, operations.Drain(ctx, m.GetOn())
}

func (h coordinationHandlers) DescribeChunk(ctx context.Context, m *nodepb.DescribeChunkRequest) (*nodepb.DescribeChunkResponse, error) {
	operations, err := h.operations()
	if err != nil {
		return nil, err
	}
	table, err := decodeTableName(m.GetSchema(), m.GetTable())
	if err != nil {
		return nil, err
	}
	if m.GetChunk() < 0 {
		return nil, badArgument("describe a chunk: %d is no number of a chunk", m.GetChunk())
	}
	data, err := operations.Chunk(ctx, table, m.GetChunk())
	if err != nil {
		return nil, err
	}
	return &nodepb.DescribeChunkResponse{Data: data}, nil
}

func decodeTableName(schema, name string) (catalog.TableName, error) {
	if err := errors.Join(checkText("schema", schema, maxNameBytes), checkText("table", name, maxNameBytes)); err != nil {
		return catalog.TableName{}, badArgument("%v", err)
	}
	if name == "" {
		return catalog.TableName{}, badArgument("no table is named")
	}
	return catalog.TableName{Schema: schema, Name: name}, nil
}

func (h coordinationHandlers) SendTable(m *nodepb.SendTableRequest, stream grpc.ServerStreamingServer[nodepb.TableData]) error {
	operations, err := h.operations()
	if err != nil {
		return err
	}
	table, err := decodeTableName(m.GetSchema(), m.GetTable())
	if err != nil {
		return err
	}
	rows, err := operations.Table(stream.Context(), table)
	if err != nil {
		return err
	}
	defer rows.Release()
	out := &pieces{send: func(data []byte) error { return stream.Send(&nodepb.TableData{Data: data}) }}
	writer := ipc.NewWriter(out, ipc.WithSchema(rows.Schema()))
	for rows.Next() {
		if err := writer.Write(rows.RecordBatch()); err != nil {
			return fmt.Errorf("send table %v: %w", table, err)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return errors.Join(writer.Close(), out.flush())
}

// pieces cuts a stream of bytes into messages.
type pieces struct {
	send    func([]byte) error
	pending []byte
}

func (p *pieces) Write(data []byte) (int, error) {
	for n := 0; n < len(data); {
		if p.pending == nil {
			p.pending = make([]byte, 0, tablePieceBytes)
		}
		part := data[n:min(len(data), n+tablePieceBytes-len(p.pending))]
		p.pending = append(p.pending, part...)
		n += len(part)
		if len(p.pending) == tablePieceBytes {
			if err := p.flush(); err != nil {
				return n, err
			}
		}
	}
	return len(data), nil
}

func (p *pieces) flush() error {
	if len(p.pending) == 0 {
		return nil
	}
	data := p.pending
	p.pending = nil // gRPC may hold on to it
	return p.send(data)
}

// Ping asks whether the node answers.
func (c *Client) Ping(ctx context.Context) error {
	call, cancel := c.call(ctx)
	defer cancel()
	_, err := c.coordination.Ping(call, &nodepb.PingRequest{})
	return c.failed(ctx, "ping", err)
}

// States are all states that the node has set.
func (c *Client) States(ctx context.Context) (map[string]int64, error) {
	return c.states(ctx, "", 0)
}

// states with a name returns later.
func (c *Client) states(ctx context.Context, name string, value int64) (map[string]int64, error) {
	call, cancel := c.call(ctx)
	defer cancel()
	m, err := c.coordination.States(call, &nodepb.StatesRequest{Name: name, Value: value})
	if err != nil {
		return nil, c.failed(ctx, "ask for states", err)
	}
	if len(m.GetStates()) > MaxStates {
		return nil, badMessage("%s has %d states", c.name, len(m.GetStates()))
	}
	for name := range m.GetStates() {
		if err := checkStateName(name); err != nil {
			return nil, badMessage("%s: %v", c.name, err)
		}
	}
	return m.GetStates(), nil
}

// WaitState waits until the node's state has the value, or the context ends.
func (c *Client) WaitState(ctx context.Context, name string, value int64) error {
	if err := checkStateName(name); err != nil {
		return badArgument("wait: %v", err)
	}
	last := "was never heard of"
	for {
		states, err := c.states(ctx, name, value)
		got, there := states[name]
		switch {
		case there && got == value:
			return nil
		case endOf(ctx) != nil:
			return &Error{
				State: stateCanceled, Cause: endOf(ctx),
				Message: fmt.Sprintf("waiting for state %s = %d of %s, which %s: %v", name, value, c.name, last, endOf(ctx)),
			}
		case err != nil:
			return err
		}
		last = "has not set it"
		if there {
			last = fmt.Sprintf("has %d", got)
		}
	}
}

// Drain tells the node to take no new chunks and fragments, or that it may again.
func (c *Client) Drain(ctx context.Context, on bool) error {
	call, cancel := c.call(ctx)
	defer cancel()
	_, err := c.coordination.Drain(call, &nodepb.DrainRequest{On: on})
	return c.failed(ctx, "drain", err)
}

// DescribeChunk gets the descriptor of a table's chunk, whose String is for people.
func (c *Client) DescribeChunk(ctx context.Context, table catalog.TableName, chunk int64) (*descriptor.Descriptor, error) {
	call, cancel := c.call(ctx)
	defer cancel()
	m, err := c.coordination.DescribeChunk(call, &nodepb.DescribeChunkRequest{Schema: table.Schema, Table: table.Name, Chunk: chunk})
	if err != nil {
		return nil, c.failed(ctx, fmt.Sprintf("describe chunk %d of %v", chunk, table), err)
	}
	d, err := descriptor.Decode(m.GetData())
	if err != nil {
		return nil, badMessage("%s: chunk %d of %v: %v", c.name, chunk, table, err)
	}
	return d, nil
}

// CopyTable copies a whole table over the connection and hands its batches to take, which releases nothing. It is there
// to be compared with: reading in place copies nothing.
func (c *Client) CopyTable(ctx context.Context, table catalog.TableName, take func(arrow.RecordBatch) error) error {
	doing := fmt.Sprintf("copy table %v", table)
	call, cancel := context.WithCancel(c.outgoing(ctx))
	defer cancel()
	stream, err := c.coordination.SendTable(call, &nodepb.SendTableRequest{Schema: table.Schema, Table: table.Name})
	if err != nil {
		return c.failed(ctx, doing, err)
	}
	in := &tableStream{stream: stream}
	rows, err := ipc.NewReader(in)
	if err == nil {
		defer rows.Release()
		for rows.Next() {
			if err := take(rows.RecordBatch()); err != nil {
				return err
			}
		}
		err = rows.Err()
	}
	switch {
	case in.err != nil && !errors.Is(in.err, io.EOF): // it explains the other
		return c.failed(ctx, doing, in.err)
	case err != nil:
		return badMessage("%s: %s: %v", c.name, doing, err)
	}
	return c.failed(ctx, doing, in.end(c.name, doing))
}

// tableStream is the bytes of a copied table.
type tableStream struct {
	stream grpc.ServerStreamingClient[nodepb.TableData]
	rest   []byte
	err    error // of the stream
}

func (s *tableStream) Read(b []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		m, err := s.stream.Recv()
		s.rest, s.err = m.GetData(), err
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// end sees to it that the copy was whole: an error may come after the last batch.
func (s *tableStream) end(node, doing string) error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	if len(s.rest) > 0 {
		return badMessage("%s: %s: %d bytes follow the table", node, doing, len(s.rest))
	}
	switch m, err := s.stream.Recv(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return badMessage("%s: %s: %d bytes follow the table", node, doing, len(m.GetData()))
	}
}
