package clienttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// TestConversations says the same to csmsql and to PostgreSQL and compares the answers: rows as text, command tags, SQLSTATEs (not
// the words), and the transaction's status after every message. In testdata/conversations "# name" begins a conversation, on a connection
// of its own; every other line is one message:
//
//	SELECT 1; SELECT 2          a simple query
//	\prepare name SELECT $1     Parse, Describe, Sync; what is described is part of the answer
//	\run name a|b               Bind with texts, Execute, Sync
//	\ask a|b SELECT $1, $2      the same without a name, and without a word on types
func TestConversations(t *testing.T) {
	peer := startPostgres(t)
	files, err := filepath.Glob("testdata/conversations/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, conversation := range strings.Split("\n"+string(text), "\n# ")[1:] {
			name, body, _ := strings.Cut(conversation, "\n")
			t.Run(name, func(t *testing.T) {
				ours, theirs := dial(t, shared.dsn()), dial(t, peer)
				for _, line := range strings.Split(strings.TrimSpace(body), "\n") {
					if want, got := answer(t, theirs, line), answer(t, ours, line); !slices.Equal(want, got) {
						t.Errorf("%s\n\tPostgreSQL: %q\n\tcsmsql:     %q", line, want, got)
					}
				}
			})
		}
	}
}

func dial(t *testing.T, conninfo string) *pgconn.PgConn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	conn, err := pgconn.Connect(ctx, conninfo)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// answer is what a server says to one line.
func answer(t *testing.T, conn *pgconn.PgConn, line string) (said []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	note := func(err error) {
		var e *pgconn.PgError
		if errors.As(err, &e) {
			said = append(said, "error "+e.Code)
		} else {
			require.NoError(t, err, line)
		}
	}
	result := func(r *pgconn.Result) {
		for _, row := range r.Rows {
			cells := make([]string, len(row))
			for i, cell := range row {
				cells[i] = "NULL"
				if cell != nil {
					cells[i] = string(cell)
				}
			}
			said = append(said, strings.Join(cells, "|"))
		}
		if r.Err == nil {
			said = append(said, r.CommandTag.String())
		}
	}
	command, rest, _ := strings.Cut(line, " ")
	name, rest, _ := strings.Cut(rest, " ")
	switch command {
	case `\prepare`:
		d, err := conn.Prepare(ctx, name, rest, nil)
		note(err)
		if err == nil {
			for _, f := range d.Fields {
				said = append(said, fmt.Sprintf("column %s %d", f.Name, f.DataTypeOID))
			}
			said = append(said, fmt.Sprint("parameters ", d.ParamOIDs))
		}
	case `\run`:
		r := conn.ExecPrepared(ctx, name, texts(rest), nil, nil).Read()
		result(r)
		note(r.Err)
	case `\ask`:
		r := conn.ExecParams(ctx, rest, texts(name), nil, nil, nil).Read()
		result(r)
		note(r.Err)
	default:
		results := conn.Exec(ctx, line)
		for results.NextResult() {
			result(results.ResultReader().Read())
		}
		note(results.Close())
	}
	return append(said, "status "+string(conn.TxStatus()))
}

func texts(list string) (args [][]byte) {
	for _, arg := range strings.Split(list, "|") {
		if list != "" {
			args = append(args, []byte(arg))
		}
	}
	return args
}

// startPostgres starts a PostgreSQL of the test's own, which listens to nothing but a socket in a directory of its own. It gives the
// connection string.
func startPostgres(t *testing.T) (conninfo string) {
	t.Helper()
	postgres := tool(t, "postgres", "postgresql")
	dir, err := os.MkdirTemp("", "csm") // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	attributes := unprivileged(t, dir)
	data := filepath.Join(dir, "data")
	command := exec.CommandContext(t.Context(), "cp", "-a", newCluster(t), data) // with its owner and modes
	command.Dir, command.SysProcAttr = dir, attributes
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	server := exec.Command(postgres, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "timezone=Etc/UTC")
	server.Dir, server.SysProcAttr = dir, attributes
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGQUIT) // nothing of it is kept
		server.Wait()
	})
	conninfo = "host=" + dir + " user=postgres dbname=postgres"
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		conn, err := pgconn.Connect(t.Context(), conninfo)
		if err == nil {
			require.NoError(t, conn.Close(t.Context()))
			return conninfo
		}
		select {
		case <-poll.C:
		case <-deadline.C:
			require.NoError(t, err, "PostgreSQL does not listen")
		}
	}
}

// newCluster is the directory of a cluster as initdb leaves it, of which each server of a test has a copy: initdb takes
// longer than most of the tests. The first test that needs it makes it.
func newCluster(t *testing.T) (data string) {
	t.Helper()
	made.Lock()
	defer made.Unlock()
	if made.data != "" {
		return made.data
	}
	initdb := tool(t, "initdb", "postgresql")
	dir, err := os.MkdirTemp("", "csm")
	require.NoError(t, err)
	made.directory = dir
	data = filepath.Join(dir, "data")
	command := exec.CommandContext(t.Context(), initdb, "-D", data, "-U", "postgres", "--auth=trust",
		"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	command.Dir, command.SysProcAttr = dir, unprivileged(t, dir)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	made.data = data
	return data
}

// made is what newCluster has made; TestMain removes it.
var made struct {
	sync.Mutex
	directory, data string // guarded by the mutex
}

// unprivileged gives dir to a user whom PostgreSQL accepts, if this one is root.
func unprivileged(t *testing.T, dir string) *syscall.SysProcAttr {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
			gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
			require.NoError(t, errors.Join(errUID, errGID, os.Chown(dir, int(uid), int(gid))))
			return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		}
	}
	t.Skip("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
	return nil
}
