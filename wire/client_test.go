package wire_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/wire"
)

// Every way in which pgx asks gives the same rows.
func TestQueryModes(t *testing.T) {
	s := startServer(t, wire.Options{})
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		conn := s.connect(t, "")
		rows, err := conn.Query(background(t), "ROWS 3", mode)
		require.NoError(t, err)
		type row struct {
			I int64
			T *string
		}
		got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
		require.NoError(t, err)
		require.Len(t, got, 3)
		require.Equal(t, "row\t2", *got[1].T)
		require.Nil(t, got[2].T)
	}
}

// Errors carry everything that was said about them.
func TestErrorFields(t *testing.T) {
	s := startServer(t, wire.Options{})
	conn := s.connect(t, "")
	_, err := conn.Exec(background(t), "UNDEFINED thing")
	var failure *pgconn.PgError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, "42P01", failure.Code)
	require.Equal(t, "a detail", failure.Detail)
	require.Equal(t, "a hint", failure.Hint)
	require.EqualValues(t, 11, failure.Position)
	require.Equal(t, "ERROR", failure.SeverityUnlocalized)
	_, err = conn.Exec(background(t), "FAILAFTER 0")
	requireState(t, err, "XX000")
	require.ErrorContains(t, err, "failed in the middle")
}

// A batch is one pipeline, and one implicit transaction.
func TestBatch(t *testing.T) {
	s := startServer(t, wire.Options{})
	conn := s.connect(t, "")
	batch := &pgx.Batch{}
	for range 10 {
		batch.Queue("INSERT 1")
		batch.Queue("SELECT 1")
	}
	require.NoError(t, conn.SendBatch(background(t), batch).Close())
	batch.Queue("FAIL")
	batch.Queue("INSERT 1")
	requireState(t, conn.SendBatch(background(t), batch).Close(), "22012")
	_, err := conn.Exec(background(t), "SELECT 1")
	require.NoError(t, err)
}

// A context that ends becomes a cancel request, and the connection lives on. W4.
func TestCancelByContext(t *testing.T) {
	s := startServer(t, wire.Options{})
	conn := s.connect(t, "")
	ctx, cancel := context.WithCancel(background(t))
	go func() {
		<-s.waiting
		cancelRequest(t, conn)
	}()
	_, err := conn.Exec(ctx, "WAIT")
	requireState(t, err, "57014")
	cancel()
	_, err = conn.Exec(background(t), "SELECT 1")
	require.NoError(t, err)
}

func cancelRequest(t *testing.T, conn *pgx.Conn) {
	if err := conn.PgConn().CancelRequest(background(t)); err != nil {
		t.Errorf("cancel request: %v", err)
	}
}

// COPY both ways.
func TestCopy(t *testing.T) {
	s := startServer(t, wire.Options{})
	conn := s.connect(t, "")
	var out bytes.Buffer
	tag, err := conn.PgConn().CopyTo(background(t), &out, "COPYOUT text 100000")
	require.NoError(t, err)
	require.EqualValues(t, 100000, tag.RowsAffected())
	require.Equal(t, 100000, strings.Count(out.String(), "\n"))
	require.True(t, strings.HasPrefix(out.String(), "1\trow\\t1\n2\trow\\t2\n3\t\\N\n"))

	in := strings.Repeat("1,one\n", 200_000)
	tag, err = conn.PgConn().CopyFrom(background(t), strings.NewReader(in), "COPYIN csv")
	require.NoError(t, err)
	require.EqualValues(t, 200_000, tag.RowsAffected())
	require.Equal(t, in, s.copied[0])

	// The server refuses in the middle of a long stream: all of the rest is swallowed.
	_, err = conn.PgConn().CopyFrom(background(t), strings.NewReader(in), "COPYIN csv fail")
	requireState(t, err, "22P04")
	_, err = conn.Exec(background(t), "SELECT 1")
	require.NoError(t, err)

	_, err = conn.PgConn().CopyFrom(background(t), &brokenReader{}, "COPYIN csv")
	requireState(t, err, "57014")
}

// A stream that does not come to its end is not kept: its client leaves in the middle, in good order or not.
func TestCopyOfWhoLeaves(t *testing.T) {
	for name, leave := range map[string]func(*pgproto3.Frontend){
		"says so":           func(f *pgproto3.Frontend) { f.Send(&pgproto3.Terminate{}) },
		"hangs up":          func(*pgproto3.Frontend) {},
		"says what is none": func(f *pgproto3.Frontend) { f.Send(&pgproto3.Query{String: "SELECT"}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, wire.Options{})
			network, _ := s.knock(t)
			frontend := pgproto3.NewFrontend(network, network)
			frontend.Send(&pgproto3.Query{String: "COPYIN csv"})
			frontend.Send(&pgproto3.CopyData{Data: []byte("1,one\n")})
			leave(frontend)
			require.NoError(t, frontend.Flush())
			<-s.waiting
			require.NoError(t, network.Close())
			require.Eventually(t, func() bool { return s.open.Load() == 0 }, patience, time.Millisecond)
			s.mu.Lock()
			defer s.mu.Unlock()
			require.Empty(t, s.copied)
		})
	}
}

// A session that still reads the stream after its COPY has ended gets nothing of the client's next messages.
func TestCopyStreamCannotBeReadAfterItsEnd(t *testing.T) {
	s := startServer(t, wire.Options{})
	frontend := newFrontend(t, s)
	copied := talk(t, frontend, &pgproto3.Query{String: "COPYIN csv fail"}, &pgproto3.CopyData{Data: []byte("1,one\n2")}, &pgproto3.CopyDone{})
	require.Equal(t, []string{"22P04 bad row"}, copied)
	s.mu.Lock()
	stream := s.stream
	s.mu.Unlock()
	_, err := stream.Read(make([]byte, 10))
	require.ErrorContains(t, err, "after CopyIn returned")
	require.Equal(t, []string{"SELECT 1"}, talk(t, frontend, &pgproto3.Query{String: "SELECT"}))
}

// A COPY that gives up while another goroutine of its waits for a silent client ends at once, and the connection goes
// on. What the client sends of the stream meanwhile is swallowed.
func TestCopyStreamIsInterrupted(t *testing.T) {
	s := startServer(t, wire.Options{})
	frontend := newFrontend(t, s)
	copied := talk(t, frontend, &pgproto3.Query{String: "COPYIN csv interrupted"}, &pgproto3.CopyData{Data: []byte("1,one\n2")})
	require.Equal(t, []string{"22P04 bad row"}, copied)
	frontend.Send(&pgproto3.CopyData{Data: []byte(",two\n")})
	frontend.Send(&pgproto3.CopyDone{})
	require.Equal(t, []string{"SELECT 1"}, talk(t, frontend, &pgproto3.Query{String: "SELECT"}))
}

// A COPY that was cancelled ends after the rows that were sent, also if the engine ignores the cancel.
func TestCopyToWhoCancels(t *testing.T) {
	s := startServer(t, wire.Options{})
	network, key := s.knock(t)
	frontend := pgproto3.NewFrontend(network, network)
	frontend.Send(&pgproto3.Query{String: "COPYOUT text 1000000 deaf"})
	require.NoError(t, frontend.Flush())
	message, err := frontend.Receive()
	require.NoError(t, err)
	require.IsType(t, (*pgproto3.CopyOutResponse)(nil), message)
	s.cancel(t, key)
	var heard []string
	for {
		message, err := frontend.Receive()
		require.NoError(t, err)
		switch message := message.(type) {
		case *pgproto3.ErrorResponse:
			heard = append(heard, message.Code+" "+message.Message)
		case *pgproto3.CommandComplete:
			heard = append(heard, string(message.CommandTag))
		case *pgproto3.ReadyForQuery:
			require.Equal(t, []string{cancelled}, heard)
			return
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

// Notices beyond the bound are counted instead of kept.
func TestNoticesAreBounded(t *testing.T) {
	s := startServer(t, wire.Options{})
	config, err := pgx.ParseConfig("host=" + s.directory + " user=postgres sslmode=disable")
	require.NoError(t, err)
	var notices []*pgconn.Notice
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) { notices = append(notices, notice) }
	conn, err := pgx.ConnectConfig(background(t), config)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(background(t), "NOTICE 1500")
	require.NoError(t, err)
	require.Len(t, notices, wire.NoticesMax+1)
	require.Equal(t, "500 further notices were dropped", notices[wire.NoticesMax].Message)
}

// TCP serves like the unix socket, from the same server.
func TestTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, wire.CheckListen(listener.Addr().String(), false))
	ctx, stop := context.WithTimeout(context.Background(), patience)
	done := make(chan error, 1)
	server := wire.NewServer(newFake(), wire.Options{})
	go func() { done <- server.Serve(ctx, listener) }()
	conn, err := pgx.Connect(ctx, "postgres://postgres@"+listener.Addr().String()+"/csmsql?sslmode=prefer")
	require.NoError(t, err)
	var one int
	require.NoError(t, conn.QueryRow(ctx, "SELECT 1").Scan(&one))
	require.NoError(t, conn.Close(ctx))
	stop()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(patience):
		t.Fatal("the server did not stop")
	}
}

// Statements are text: what is not UTF-8 never reaches the parser.
func TestQueryIsText(t *testing.T) {
	s := startServer(t, wire.Options{})
	conn := s.connect(t, "")
	_, err := conn.Exec(background(t), "SELECT \xff")
	requireState(t, err, "22021")
	_, err = conn.Exec(background(t), "SELECT \xff", pgx.QueryExecModeSimpleProtocol)
	requireState(t, err, "22021")
}
