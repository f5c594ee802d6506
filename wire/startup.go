package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// errNoSession says that the connection was not meant to become one: a cancel request, or a client that hung up.
var errNoSession = errors.New("no session wanted")

// preludesMax bounds what may come before the start-up message: SSLRequest, GSSENCRequest.
const preludesMax = 2

// handshake reads until the start-up message and checks it. errNoSession: nothing more to say.
func (c *connection) handshake() (Startup, error) {
	for range preludesMax + 1 {
		message, err := c.in.startup()
		if err != nil {
			return Startup{}, startupError(err)
		}
		switch message := message.(type) {
		case *pgproto3.SSLRequest, *pgproto3.GSSEncRequest:
			// Not in this stage: plain text on the local machine only (W1).
			if _, err := c.network.Write([]byte{'N'}); err != nil {
				return Startup{}, errNoSession
			}
		case *pgproto3.CancelRequest:
			c.server.lobby.spoke(c)
			c.server.registry.cancel(message.ProcessID, message.SecretKey)
			return Startup{}, errNoSession
		case *pgproto3.StartupMessage:
			c.server.lobby.spoke(c)
			return c.readStartup(message)
		}
	}
	return Startup{}, protocolViolation("too many encryption requests before the start-up message")
}

// startupError explains what cannot be read. A client that only knocks (a port scan, a health check) gets no answer.
func startupError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isTimeout(err) || isClosed(err) {
		return errNoSession
	}
	return protocolViolation("invalid start-up packet: %v", err)
}

func (c *connection) readStartup(message *pgproto3.StartupMessage) (Startup, error) {
	start := Startup{
		Parameters: make(map[string]string, len(message.Parameters)),
		RemoteAddr: c.network.RemoteAddr(),
		Client:     c,
	}
	var extensions []string
	for name, value := range message.Parameters {
		switch {
		case name == "user":
			start.User = value
		case name == "database":
			start.Database = value
		case name == "application_name":
			start.ApplicationName = value
		case name == "replication":
			if value != "" && value != "false" && value != "off" && value != "no" && value != "0" {
				return start, &Error{"0A000", "replication connections are not supported", "Connect without the replication parameter."}
			}
		case name == "options":
		case strings.HasPrefix(name, "_pq_."):
			extensions = append(extensions, name)
		default:
			start.Parameters[name] = value
		}
	}
	if err := parseOptions(message.Parameters["options"], start.Parameters); err != nil {
		return start, err
	}
	if start.User == "" {
		return start, &Error{"28000", "no PostgreSQL user name specified in startup packet", "Give a user name, for example psql -U postgres."}
	}
	if start.Database == "" {
		start.Database = start.User
	}
	if message.ProtocolVersion != pgproto3.ProtocolVersion30 || len(extensions) > 0 {
		c.out.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: pgproto3.ProtocolVersion30, UnrecognizedOptions: extensions})
	}
	return start, nil
}

// parseOptions reads the command-line form in which libpq's options and PGOPTIONS set parameters:
// "-c name=value" and "--name=value", with backslashes before spaces that belong to a value.
func parseOptions(options string, into map[string]string) error {
	words := splitOptions(options)
	for i := 0; i < len(words); i++ {
		setting, ok := strings.CutPrefix(words[i], "--")
		if !ok {
			setting, ok = strings.CutPrefix(words[i], "-c")
			if ok && setting == "" && i+1 < len(words) {
				i++
				setting = words[i]
			}
		}
		name, value, hasValue := strings.Cut(setting, "=")
		if !ok || !hasValue || name == "" {
			return &Error{"42601", fmt.Sprintf("invalid command-line argument for server process: %s", words[i]), "Write options as -c name=value."}
		}
		into[strings.ReplaceAll(name, "-", "_")] = value
	}
	return nil
}

func splitOptions(options string) (words []string) {
	var word strings.Builder
	inside := false
	for i := 0; i < len(options); i++ {
		b := options[i]
		switch {
		case b == '\\' && i+1 < len(options):
			i++
			word.WriteByte(options[i])
			inside = true
		case b == ' ' || b == '\t' || b == '\n' || b == '\r' || b == '\v' || b == '\f':
			if inside {
				words = append(words, word.String())
				word.Reset()
				inside = false
			}
		default:
			word.WriteByte(b)
			inside = true
		}
	}
	if inside {
		words = append(words, word.String())
	}
	return words
}

// greet sends the client AuthenticationOk and the parameters of its session.
func (c *connection) greet() error {
	c.out.send(&pgproto3.AuthenticationOk{})
	c.sendNotices()
	c.sendAllParameters()
	c.out.send(&pgproto3.BackendKeyData{ProcessID: c.processID, SecretKey: c.secretKey[:]})
	return c.ready()
}

// start goes from an accepted socket to an open session. The caller ends the session.
func (c *connection) start() error {
	if err := c.network.SetDeadline(time.Now().Add(c.server.options.StartupTimeout)); err != nil {
		return errNoSession
	}
	startup, err := c.handshake()
	if err != nil {
		return err
	}
	select {
	case c.server.slots <- struct{}{}:
		c.hasSlot = true
	default:
		return ErrTooManyConnections
	}
	c.server.lobby.leave(c)
	if err := c.network.SetDeadline(time.Time{}); err != nil {
		return errNoSession
	}
	c.server.registry.enter(c)
	c.registered = true
	startup.ProcessID = c.processID
	c.parameters = initialParameters(c.server.options.ServerVersion, startup)
	if err := c.applyStartup(startup); err != nil {
		return err
	}
	if c.session, err = c.server.backend.Open(c.ctx, startup); err != nil {
		return err // as it is: the client reads it
	}
	if account, ok := c.session.(Accounted); ok {
		c.account, c.in.charge.account, c.out.charge.account = account, account, account
	}
	c.implicitTransaction, _ = c.session.(ImplicitTransaction)
	c.hearing, _ = c.session.(Hearing)
	return c.greet()
}
