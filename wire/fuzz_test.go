package wire_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/csmsql/csmsql/wire"
)

// FuzzConversation sends any bytes after a good start-up: the server may answer what it likes, but it neither panics nor
// hangs, and gives everything back (W3, W6).
func FuzzConversation(f *testing.F) {
	encode := func(messages ...pgproto3.FrontendMessage) (out []byte) {
		for _, message := range messages {
			out, _ = message.Encode(out)
		}
		return out
	}
	f.Add(encode(&pgproto3.Query{String: "ROWS 3; SELECT 1"}))
	f.Add(encode(&pgproto3.Parse{Name: "s", Query: "ROWS 5"}, &pgproto3.Bind{PreparedStatement: "s", DestinationPortal: "p"},
		&pgproto3.Execute{Portal: "p", MaxRows: 2}, &pgproto3.Execute{Portal: "p"}, &pgproto3.Sync{}))
	f.Add(encode(&pgproto3.Parse{Query: "ECHO 23 1700 1007 1184"}, &pgproto3.Bind{ParameterFormatCodes: []int16{1},
		Parameters: [][]byte{{0, 0, 0, 1}, {0, 1, 0, 0, 0, 0, 0, 0, 0, 1}, {0, 0, 0, 1, 0, 0, 0, 0}, nil}}, &pgproto3.Execute{}, &pgproto3.Sync{}))
	f.Add(encode(&pgproto3.Query{String: "COPYIN csv"}, &pgproto3.CopyData{Data: []byte("1,one\n")}, &pgproto3.CopyDone{}))
	f.Add(encode(&pgproto3.Query{String: "COPYOUT binary 3"}, &pgproto3.CopyFail{Message: "x"}, &pgproto3.FunctionCall{}))
	f.Add([]byte{'Q', 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		start := encode(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "a"}})
		converse(t, append(start, bytes...))
	})
}

// FuzzStartup sends any bytes at all.
func FuzzStartup(f *testing.F) {
	f.Add([]byte{0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f}) // SSLRequest
	f.Add([]byte{0, 0, 0, 8, 4, 0xd2, 0x16, 0x30, 0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f})
	f.Add([]byte{0, 0, 0, 16, 4, 0xd2, 0x16, 0x2e, 0, 0, 0, 1, 0, 0, 0, 2}) // CancelRequest
	f.Add([]byte("\x00\x00\x00\x1f\x00\x03\x00\x00user\x00a\x00options\x00-c a=b\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x22\x00\x03\x00\x02user\x00a\x00client_encoding\x00\xff\x00\x00"))
	f.Fuzz(converse)
}

// converse sends bytes, hangs up and waits for the server's end.
func converse(t *testing.T, bytes []byte) {
	backend := newFake()
	listener := newPipeListener()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	server := wire.NewServer(backend, wire.Options{MaxMessageBytes: 1 << 16, ShutdownGrace: 10 * time.Millisecond, Logger: slog.New(failOnPanic{t})})
	go func() { done <- server.Serve(ctx, listener) }()
	network := listener.dial()
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.Copy(io.Discard, network)
	}()
	network.SetWriteDeadline(time.Now().Add(patience))
	network.Write(bytes)
	network.Close()
	<-read
	stop()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("the server hangs")
	}
	if open := backend.open.Load(); open != 0 {
		t.Fatalf("%d things were not closed", open)
	}
}

// failOnPanic is a log in which a recovered panic fails the test, except those that the fake makes on demand.
type failOnPanic struct{ t *testing.T }

func (failOnPanic) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }
func (h failOnPanic) WithAttrs([]slog.Attr) slog.Handler             { return h }
func (h failOnPanic) WithGroup(string) slog.Handler                  { return h }

func (h failOnPanic) Handle(_ context.Context, record slog.Record) error {
	record.Attrs(func(attr slog.Attr) bool {
		if text := attr.Value.String(); attr.Key == "panic" && text != "statement panic" && text != "execute panic" && text != "database panic" {
			h.t.Errorf("panic: %s", text)
		}
		return true
	})
	return nil
}
