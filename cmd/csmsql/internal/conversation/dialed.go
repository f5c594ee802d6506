package conversation

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/csmsql/csmsql/cluster/noderpc"
)

// socketPort names the socket in a node's data directory that does not depend on its TCP port.
const socketPort = 5432

// cancelPatience is how long a cancelled statement may take to end before the connection is given up.
const cancelPatience = 10 * time.Second

// dialed asks a node over the PostgreSQL protocol.
type dialed struct{ conn *pgconn.PgConn }

// Dial finds out from a node's RPC where it speaks PostgreSQL's protocol, and connects there.
func Dial(ctx context.Context, target string, notice func(Notice),
	options ...noderpc.DialOption) (Conversation, error) {
	node, err := noderpc.Dial(ctx, target, options...)
	if err != nil {
		return nil, err
	}
	defer node.Close() // only a call that has ended
	description, err := node.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return dialFrontend(ctx, description.Frontend, notice)
}

func dialFrontend(ctx context.Context, frontend noderpc.Frontend, notice func(Notice)) (Conversation, error) {
	config, err := pgconn.ParseConfig("host=/ user=postgres dbname=csmsql sslmode=disable application_name=csmsql")
	if err != nil {
		return nil, fmt.Errorf("connection settings from the environment (PG…): %w", err)
	}
	config.Host, config.Port, config.Fallbacks = frontend.SocketDirectory, socketPort, nil
	if !reachable(frontend.SocketDirectory) {
		host, port, err := net.SplitHostPort(frontend.Address)
		if err != nil {
			return nil, &Failure{
				Severity: "ERROR", State: "08001", Message: "the node does not speak the PostgreSQL protocol here: its socket is in " + frontend.SocketDirectory + ", which this user or machine cannot open, and it has no TCP address",
				HintText: "Start it with --pg 127.0.0.1:5433, or ask another node.",
			}
		}
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("the node's PostgreSQL address %q: %w", frontend.Address, err)
		}
		config.Host, config.Port = host, uint16(number)
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		notice(Notice{Severity: n.Severity, Message: n.Message, Detail: n.Detail, Hint: n.Hint})
	}
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelPatience}
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, failureOf(err)
	}
	return &dialed{conn}, nil
}

// reachable reports whether the node's socket for the PostgreSQL protocol is on this machine and may be opened by this
// user.
func reachable(directory string) bool {
	if directory == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(directory, ".s.PGSQL."+strconv.Itoa(socketPort)))
	return err == nil
}

// Run implements Conversation.
func (d *dialed) Run(ctx context.Context, sql string, sink Sink) error {
	results := d.conn.Exec(ctx, sql)
	failed := d.read(results, sink)
	if err := results.Close(); err != nil {
		return failureOf(err) // the server's error says more than the one that follows from it
	}
	return failed
}

func (d *dialed) read(results *pgconn.MultiResultReader, sink Sink) error {
	for results.NextResult() {
		rows := results.ResultReader()
		if fields := rows.FieldDescriptions(); fields != nil {
			columns := make([]Column, len(fields))
			for i, f := range fields {
				columns[i] = Column{Name: f.Name, OID: f.DataTypeOID}
			}
			if err := sink.Begin(columns); err != nil {
				return err
			}
		}
		for rows.NextRow() {
			if err := sink.Row(rows.Values()); err != nil {
				return err
			}
		}
		tag, err := rows.Close()
		if err == nil {
			err = sink.End(tag.String())
		}
		if err != nil {
			return failureOf(err)
		}
	}
	return nil
}

// Copy implements Conversation.
func (d *dialed) Copy(ctx context.Context, sql string, in io.Reader, out io.Writer) (string, error) {
	from, _ := ClientCopy(sql)
	var tag pgconn.CommandTag
	var err error
	if from {
		tag, err = d.conn.CopyFrom(ctx, in, sql)
	} else {
		tag, err = d.conn.CopyTo(ctx, out, sql)
	}
	if err != nil {
		return "", failureOf(err)
	}
	return tag.String(), nil
}

// Close implements Conversation.
func (d *dialed) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return d.conn.Close(ctx)
}
