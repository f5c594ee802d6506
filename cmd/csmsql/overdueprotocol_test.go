package main_test

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"
)

// raw is a client that receives every message.
type raw struct {
	t        *testing.T
	address  string
	key      pgproto3.BackendKeyData
	frontend *pgproto3.Frontend
}

func (n *node) raw(t *testing.T) *raw {
	t.Helper()
	network, err := net.Dial("tcp", n.frontend.Address)
	require.NoError(t, err)
	t.Cleanup(func() { network.Close() })
	require.NoError(t, network.SetDeadline(time.Now().Add(2*patience)))
	r := &raw{t: t, address: n.frontend.Address, frontend: pgproto3.NewFrontend(network, network)}
	start := &pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "postgres", "database": "csmsql"}}
	require.Equal(t, []string{"ready I"}, r.say(start))
	return r
}

// say sends messages and returns the answers up to ReadyForQuery.
func (r *raw) say(messages ...pgproto3.FrontendMessage) []string {
	r.t.Helper()
	for _, m := range messages {
		r.frontend.Send(m)
	}
	require.NoError(r.t, r.frontend.Flush())
	return r.hear()
}

// hear returns the messages up to ReadyForQuery, one word for each; consecutive rows are one word.
func (r *raw) hear() (heard []string) {
	r.t.Helper()
	for {
		message, err := r.frontend.Receive()
		require.NoError(r.t, err)
		word := ""
		switch m := message.(type) {
		case *pgproto3.BackendKeyData:
			r.key = *m
		case *pgproto3.ErrorResponse:
			word = m.Code
		case *pgproto3.CommandComplete:
			word = string(m.CommandTag)
		case *pgproto3.ReadyForQuery:
			return append(heard, "ready "+string(m.TxStatus))
		case *pgproto3.AuthenticationOk, *pgproto3.ParameterStatus, *pgproto3.NoticeResponse:
		default:
			word = fmt.Sprintf("%T", m)[len("*pgproto3."):]
		}
		if word != "" && (word != "DataRow" || len(heard) == 0 || heard[len(heard)-1] != word) {
			heard = append(heard, word)
		}
	}
}

// cancelled is say with cancel requests, again and again: the first one may come before there is something to cancel.
// One may come too late, and hit the next statement: settled allows for that.
func (r *raw) cancelled(messages ...pgproto3.FrontendMessage) []string {
	r.t.Helper()
	heard, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if network, err := net.Dial("tcp", r.address); err == nil {
				frontend := pgproto3.NewFrontend(network, network)
				frontend.Send(&pgproto3.CancelRequest{ProcessID: r.key.ProcessID, SecretKey: r.key.SecretKey})
				_ = frontend.Flush() // or the next one
				network.Close()
			}
			select {
			case <-heard:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	words := r.say(messages...)
	close(heard)
	<-ended
	return words
}

// settled asks until the session is done with the overdue statement, and gives that answer: meanwhile each waits as long as it may.
func (r *raw) settled(messages ...pgproto3.FrontendMessage) []string {
	r.t.Helper()
	for {
		if heard := r.say(messages...); heard[0] != "57014" {
			return heard
		}
	}
}

func query(sql string) pgproto3.FrontendMessage { return &pgproto3.Query{String: sql} }

// value is one that DuckDB works on for longer than inTime without listening.
const (
	value  = "levenshtein(repeat('ab', 5000 + (i > 0)::int), repeat('bca', 20000))"
	late   = "SELECT " + value + " FROM late WHERE i = 1"
	inTime = "SET LOCAL statement_timeout = 100"
)

// The messages that the client of an overdue statement receives, their order, and the state of its transaction, in
// every form of the protocol. A statement that the client sends while the session is not done with the overdue one
// waits for as long as it may take, and then times out as well.
func TestTheProtocolOfOverdueStatements(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--workers", "0")
	admin := n.connect(t)
	for _, sql := range []string{
		"CREATE TABLE late AS SELECT i FROM range(3) r(i)", "CREATE TABLE checked (i int CHECK (" + value + " >= 0))",
		"CREATE TABLE many AS SELECT i FROM range(200000) r(i)",
	} {
		_, err := admin.Exec(deadline(t), sql)
		require.NoError(t, err)
	}
	count := func(table string) (rows int) {
		require.NoError(t, admin.QueryRow(deadline(t), "SELECT count(*)::int FROM "+table).Scan(&rows))
		return rows
	}
	open := func(t *testing.T, begin ...string) *raw {
		r := n.raw(t)
		for _, sql := range begin {
			r.say(query(sql))
		}
		return r
	}
	execute := func(list ...string) (messages []pgproto3.FrontendMessage) {
		for _, sql := range list {
			messages = append(messages, &pgproto3.Parse{Query: sql}, &pgproto3.Bind{}, &pgproto3.Execute{})
		}
		return append(messages, &pgproto3.Sync{})
	}
	t.Run("pipeline", func(t *testing.T) {
		r := open(t)
		require.Equal(t, []string{"INSERT 0 1", "SET", "57014", "ready I"},
			withoutComplete(r.say(execute("INSERT INTO late VALUES (7)", inTime, late, "INSERT INTO late VALUES (8)")...)))
		require.Equal(t, []string{"RowDescription", "DataRow", "SELECT 1", "ready I"}, r.settled(query("SELECT 1")))
		require.Equal(t, 3, count("late"), "all of it is one transaction")
	})
	t.Run("several statements", func(t *testing.T) {
		r := open(t)
		require.Equal(t, []string{"RowDescription", "DataRow", "SELECT 1", "INSERT 0 1", "SET", "57014", "ready I"},
			withoutComplete(r.say(query("SELECT 1; INSERT INTO late VALUES (7); "+inTime+"; COPY ("+late+") TO STDOUT; SELECT 2"))))
		require.Equal(t, 3, count("late"))
		require.Equal(t, []string{"DISCARD ALL", "ready I"}, r.settled(query("DISCARD ALL")))
	})
	t.Run("COPY from", func(t *testing.T) {
		r := open(t, "SET statement_timeout = 100")
		require.Equal(t, []string{"CopyInResponse", "57014", "ready I"},
			r.say(query("COPY checked FROM STDIN"), &pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyDone{}))
		require.Equal(t, []string{"RESET", "ready I"}, r.settled(query("RESET statement_timeout")))
		require.Equal(t, []string{"RowDescription", "DataRow", "SELECT 1", "ready I"}, r.say(query("SELECT 1")))
		require.Zero(t, count("checked"))
	})
	t.Run("block", func(t *testing.T) {
		r := open(t, "BEGIN", "INSERT INTO late VALUES (7)", inTime)
		require.Equal(t, []string{"57014", "ready E"}, r.say(query("UPDATE late SET i = "+value+" WHERE i = 1")))
		require.Equal(t, []string{"25P02", "ready E"}, r.settled(query("SELECT 1")))
		require.Equal(t, []string{"25P02", "ready E"}, r.settled(query("DISCARD ALL")))
		require.Equal(t, []string{"ROLLBACK", "ready I"}, r.settled(query("ROLLBACK")))
		require.Equal(t, []string{"DISCARD ALL", "ready I"}, r.say(query("DISCARD ALL")))
		require.Equal(t, 3, count("late"))
	})
	t.Run("savepoint", func(t *testing.T) {
		r := open(t, "BEGIN", "SAVEPOINT a", inTime)
		require.Equal(t, []string{"57014", "ready E"}, r.say(query("CREATE TABLE made AS "+late)))
		require.Equal(t, []string{"ROLLBACK", "ready T"}, r.settled(query("ROLLBACK TO a"))) // and the setting
		require.Equal(t, []string{"42P01", "ready E"}, r.say(query("SELECT 1 FROM made")))
		require.Equal(t, []string{"ROLLBACK", "ready I"}, r.say(query("COMMIT")))
	})
	const one = "SELECT i, CASE WHEN i = 150000 THEN " + value + " END FROM many"
	t.Run("portal", func(t *testing.T) {
		r := open(t, "BEGIN")
		require.Equal(t, []string{"DataRow", "PortalSuspended", "ready T"}, withoutComplete(r.say(
			&pgproto3.Parse{Query: one}, &pgproto3.Bind{DestinationPortal: "p"}, &pgproto3.Execute{Portal: "p", MaxRows: 10}, &pgproto3.Sync{})))
		rest := []pgproto3.FrontendMessage{&pgproto3.Execute{Portal: "p"}, &pgproto3.Execute{Portal: "p"}, &pgproto3.Sync{}}
		require.Equal(t, []string{"DataRow", "57014", "ready E"}, r.cancelled(rest...))
		require.Equal(t, []string{"CloseComplete", "ready E"}, r.settled(&pgproto3.Close{ObjectType: 'P', Name: "p"}, &pgproto3.Sync{}))
		require.Equal(t, []string{"ROLLBACK", "ready I"}, r.settled(query("ROLLBACK")))
		require.Equal(t, []string{"34000", "ready I"}, r.settled(rest...))
	})
	t.Run("cursor", func(t *testing.T) {
		r := open(t, "BEGIN", "DECLARE c CURSOR FOR "+one)
		require.Equal(t, []string{"RowDescription", "DataRow", "FETCH 10", "ready T"}, r.say(query("FETCH 10 c")))
		heard := r.cancelled(query("FETCH ALL c"))
		require.Equal(t, []string{"57014", "ready E"}, heard[len(heard)-2:])
		require.Equal(t, []string{"25P02", "ready E"}, r.settled(query("FETCH c")))
		require.Equal(t, []string{"ROLLBACK", "ready I"}, r.settled(query("ROLLBACK")))
	})
	for text, forgotten := range map[string]string{"DECLARE p CURSOR FOR " + late: "FETCH p", "PREPARE p AS SELECT levenshtein(repeat('ab', 5000), repeat('bca', 20000))": "EXECUTE p"} {
		t.Run(text[:7], func(t *testing.T) {
			r := open(t, "BEGIN", "SAVEPOINT a", inTime)
			require.Equal(t, []string{"57014", "ready E"}, r.say(query(text)))
			require.Equal(t, []string{"ROLLBACK", "ready T"}, r.settled(query("ROLLBACK TO a")))
			require.Contains(t, []string{"34000", "26000"}, r.say(query(forgotten))[0], "it has left nothing")
		})
	}
}

// withoutComplete leaves out the acknowledgements of the extended protocol.
func withoutComplete(heard []string) []string {
	return slices.DeleteFunc(heard, func(word string) bool { return word == "ParseComplete" || word == "BindComplete" })
}
