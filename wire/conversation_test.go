package wire_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/wire"
)

// pipeListener hands out one end of net.Pipes.
type pipeListener struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once // Serve closes its listener on two paths
}

func newPipeListener() *pipeListener {
	return &pipeListener{accept: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accept:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (l *pipeListener) dial() net.Conn {
	client, server := net.Pipe()
	l.accept <- server
	return client
}

// conversation is one scripted client: every message both ways is traced as libpq's PQtrace would.
type conversation struct {
	t        *testing.T
	backend  *fakeBackend
	listener *pipeListener
	network  net.Conn
	frontend *pgproto3.Frontend
	trace    bytes.Buffer
	key      *pgproto3.BackendKeyData
}

func (c *conversation) dial() {
	if c.network != nil {
		c.network.Close()
	}
	c.network = c.listener.dial()
	require.NoError(c.t, c.network.SetDeadline(time.Now().Add(patience)))
	c.frontend = pgproto3.NewFrontend(c.network, c.network)
	c.frontend.Trace(&c.trace, pgproto3.TracerOptions{SuppressTimestamps: true, RegressMode: true})
}

// argument returns key=value of a script line, or a default.
func argument(args []datadriven.CmdArg, key, otherwise string) string {
	for _, arg := range args {
		if arg.Key == key {
			return strings.Join(arg.Vals, ", ")
		}
	}
	return otherwise
}

func has(args []datadriven.CmdArg, key string) bool {
	for _, arg := range args {
		if arg.Key == key {
			return true
		}
	}
	return false
}

func numbers[T int16 | uint32](t *testing.T, args []datadriven.CmdArg, key string) (out []T) {
	for _, word := range strings.Split(argument(args, key, ""), ",") {
		if word = strings.TrimSpace(word); word != "" {
			number, err := strconv.ParseInt(word, 10, 64)
			require.NoError(t, err)
			out = append(out, T(number))
		}
	}
	return out
}

var sqlArgument = regexp.MustCompile(`sql=\((.*?)\)( |$)`)

// message reads one line of a script.
func (c *conversation) message(line string) pgproto3.FrontendMessage {
	// The SQL text is taken out first: datadriven would stumble over its punctuation.
	sql := ""
	if found := sqlArgument.FindStringSubmatch(line); found != nil {
		sql, line = found[1], strings.Replace(line, found[0], " ", 1)
	}
	command, args, err := datadriven.ParseLine(line)
	require.NoError(c.t, err, line)
	name := argument(args, "name", "")
	switch command {
	case "query":
		return &pgproto3.Query{String: sql}
	case "parse":
		return &pgproto3.Parse{Name: name, Query: sql, ParameterOIDs: numbers[uint32](c.t, args, "oids")}
	case "bind":
		bind := &pgproto3.Bind{
			DestinationPortal: argument(args, "portal", ""), PreparedStatement: name,
			ParameterFormatCodes: numbers[int16](c.t, args, "formats"), ResultFormatCodes: numbers[int16](c.t, args, "results"),
		}
		for _, arg := range args {
			if arg.Key == "values" {
				for _, value := range arg.Vals {
					bind.Parameters = append(bind.Parameters, parameter(c.t, value))
				}
			}
		}
		return bind
	case "describe":
		return &pgproto3.Describe{ObjectType: argument(args, "type", "S")[0], Name: name}
	case "execute":
		limit, err := strconv.Atoi(argument(args, "limit", "0"))
		require.NoError(c.t, err)
		return &pgproto3.Execute{Portal: name, MaxRows: uint32(limit)}
	case "close":
		return &pgproto3.Close{ObjectType: argument(args, "type", "S")[0], Name: name}
	case "flush":
		return &pgproto3.Flush{}
	case "sync":
		return &pgproto3.Sync{}
	case "terminate":
		return &pgproto3.Terminate{}
	case "function":
		return &pgproto3.FunctionCall{Function: 1}
	case "password":
		return &pgproto3.PasswordMessage{Password: "secret"}
	case "data":
		return &pgproto3.CopyData{Data: []byte(strings.ReplaceAll(argument(args, "text", ""), `\n`, "\n"))}
	case "done":
		return &pgproto3.CopyDone{}
	case "fail":
		return &pgproto3.CopyFail{Message: "client changed its mind"}
	}
	c.t.Fatalf("unknown message %q", line)
	return nil
}

// parameter reads NULL, x'hex' or text.
func parameter(t *testing.T, text string) []byte {
	if text == "NULL" {
		return nil
	}
	if digits, ok := strings.CutPrefix(text, "x'"); ok {
		out, err := hex.DecodeString(strings.TrimSuffix(digits, "'"))
		require.NoError(t, err)
		return out
	}
	return []byte(text)
}

// send writes messages in the background, since a pipe has no buffer and the server answers meanwhile.
func (c *conversation) send(messages []pgproto3.FrontendMessage) (done chan error) {
	sent := make(chan error, 1)
	for _, message := range messages {
		c.frontend.Send(message)
	}
	go func() { sent <- c.frontend.Flush() }() // received by the caller, or not at all once the server has hung up
	return sent
}

// receive traces until a message of a type ("ReadyForQuery"), or the end of the connection.
func (c *conversation) receive(until string) {
	for {
		message, err := c.frontend.Receive()
		if err != nil {
			require.True(c.t, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), "%v", err)
			c.trace.WriteString("(connection closed)\n")
			return
		}
		c.detail(message)
		if key, ok := message.(*pgproto3.BackendKeyData); ok {
			c.key = &pgproto3.BackendKeyData{ProcessID: key.ProcessID, SecretKey: append([]byte(nil), key.SecretKey...)}
		}
		if strings.TrimPrefix(fmt.Sprintf("%T", message), "*pgproto3.") == until {
			return
		}
	}
}

// detail adds what the trace leaves out.
func (c *conversation) detail(message pgproto3.BackendMessage) {
	switch message := message.(type) {
	case *pgproto3.ErrorResponse:
		fmt.Fprintf(&c.trace, "\t%s %s at %d: %s\n", message.Severity, message.Code, message.Position, message.Message)
		if message.Detail+message.Hint != "" {
			fmt.Fprintf(&c.trace, "\tdetail %q, hint %q\n", message.Detail, message.Hint)
		}
	case *pgproto3.NoticeResponse:
		fmt.Fprintf(&c.trace, "\t%s %s: %s (%s)\n", message.Severity, message.Code, message.Message, message.Hint)
	case *pgproto3.CopyData:
		fmt.Fprintf(&c.trace, "\t%q\n", message.Data)
	case *pgproto3.NegotiateProtocolVersion:
		fmt.Fprintf(&c.trace, "\t%x %q\n", message.NewestMinorProtocol, message.UnrecognizedOptions)
	}
}

// run executes one command of a script.
func (c *conversation) run(t *testing.T, d *datadriven.TestData) string {
	c.t = t
	c.trace.Reset()
	until := argument(d.CmdArgs, "until", "ReadyForQuery")
	switch d.Cmd {
	case "startup":
		c.startup(d)
	case "still-running":
		<-c.backend.waiting
		c.cancel(has(d.CmdArgs, "after-wrong-key"))
		return fmt.Sprintf("%v\n", c.backend.waiter.Load().(context.Context).Err() == nil)
	case "raw":
		c.dial()
		bytes, err := hex.DecodeString(strings.Join(strings.Fields(d.Input), ""))
		require.NoError(t, err)
		go c.network.Write(bytes)
	case "cancel":
		if has(d.CmdArgs, "when-waiting") {
			<-c.backend.waiting
		}
		c.cancel(has(d.CmdArgs, "wrong-key"))
	case "implicit":
		c.backend.mu.Lock()
		defer c.backend.mu.Unlock()
		defer func() { c.backend.implicit = nil }()
		return strings.Join(c.backend.implicit, "\n") + "\n"
	case "receive":
	case "send":
		var messages []pgproto3.FrontendMessage
		for _, line := range strings.Split(d.Input, "\n") {
			messages = append(messages, c.message(line))
		}
		sent := c.send(messages)
		defer func() {
			if until != "eof" {
				require.NoError(t, <-sent)
			}
		}()
		if has(d.CmdArgs, "and-cancel") {
			<-c.backend.waiting
			c.cancel(false)
		}
	default:
		t.Fatalf("unknown command %q", d.Cmd)
	}
	if until != "nothing" {
		c.receive(until)
	}
	return c.trace.String()
}

func (c *conversation) startup(d *datadriven.TestData) {
	c.dial()
	parameters := map[string]string{}
	for _, arg := range d.CmdArgs {
		if arg.Key != "until" && arg.Key != "minor" {
			parameters[arg.Key] = strings.Join(arg.Vals, ", ")
		}
	}
	version := uint32(pgproto3.ProtocolVersion30)
	if has(d.CmdArgs, "minor") {
		version = pgproto3.ProtocolVersion32
		if minor, err := strconv.Atoi(argument(d.CmdArgs, "minor", "")); err == nil {
			version = pgproto3.ProtocolVersion30 + uint32(minor)
		}
	}
	// Start-up is one message: the server reads all of it before it answers.
	require.NoError(c.t, <-c.send([]pgproto3.FrontendMessage{&pgproto3.StartupMessage{ProtocolVersion: version, Parameters: parameters}}))
}

// cancel sends a cancel request on a connection of its own and waits until the server has dealt with it.
func (c *conversation) cancel(wrongKey bool) {
	network := c.listener.dial()
	defer network.Close()
	request := &pgproto3.CancelRequest{ProcessID: c.key.ProcessID, SecretKey: append([]byte(nil), c.key.SecretKey...)}
	if wrongKey {
		request.SecretKey[0] ^= 1
	}
	bytes, err := request.Encode(nil)
	require.NoError(c.t, err)
	_, err = network.Write(bytes)
	require.NoError(c.t, err)
	_, err = network.Read(make([]byte, 1))
	require.ErrorIs(c.t, err, io.EOF)
}

// Whole conversations, both sides, compared line by line.
func TestConversations(t *testing.T) {
	datadriven.Walk(t, "testdata/conversations", func(t *testing.T, path string) {
		c := &conversation{t: t, backend: newFake(), listener: newPipeListener()}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		server := wire.NewServer(c.backend, wire.Options{MaxMessageBytes: 1 << 16, Logger: slog.New(slog.DiscardHandler)})
		go func() { done <- server.Serve(ctx, c.listener) }()
		datadriven.RunTest(t, path, c.run)
		if c.network != nil {
			c.network.Close()
		}
		stop()
		require.NoError(t, <-done)
		require.Zero(t, c.backend.open.Load(), "something was not closed")
	})
}
