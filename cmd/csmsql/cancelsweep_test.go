package main_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/testsuite"
)

// cancel sends a cancel request, and returns when the server has received it: then it closes the connection.
func (r *raw) cancel() error {
	network, err := net.Dial("tcp", r.address)
	if err != nil {
		return err
	}
	defer network.Close()
	frontend := pgproto3.NewFrontend(network, network)
	frontend.Send(&pgproto3.CancelRequest{ProcessID: r.key.ProcessID, SecretKey: r.key.SecretKey})
	if err := frontend.Flush(); err != nil {
		return err
	}
	if _, err := frontend.Receive(); err == nil {
		return fmt.Errorf("a cancel request has an answer")
	}
	return nil
}

// begun sends messages and waits for the first answer of a kind: by then the server works on them.
func begun[Kind pgproto3.BackendMessage](r *raw, messages ...pgproto3.FrontendMessage) {
	r.t.Helper()
	for _, m := range messages {
		r.frontend.Send(m)
	}
	require.NoError(r.t, r.frontend.Flush())
	for {
		message, err := r.frontend.Receive()
		require.NoError(r.t, err)
		if _, is := message.(Kind); is {
			return
		}
		refused, _ := message.(*pgproto3.ErrorResponse)
		require.Nil(r.t, refused, "%v", refused)
	}
}

// sign is a row that is sent at once, so that the client knows that the server has read what it was sent.
const sign = "SELECT repeat('x', 300000)"

const (
	forever      = "FROM range(1000000000000000) r(i) WHERE i % 7 = 8"
	foreverTable = "FROM swept a, swept b, swept c WHERE (a.i * b.i + c.i) % 1000003 = -1"
)

// sweptForms are what clients send that takes hours, in every form of the protocol, behind a sign.
func sweptForms() map[string][]pgproto3.FrontendMessage {
	execute := func(sql string) []pgproto3.FrontendMessage {
		return []pgproto3.FrontendMessage{&pgproto3.Parse{Query: sql}, &pgproto3.Bind{}, &pgproto3.Execute{}}
	}
	forms := map[string][]pgproto3.FrontendMessage{}
	for _, sql := range []string{
		"SELECT count(*) " + forever, "SELECT count(*) " + foreverTable, "SELECT a.i, b.i FROM swept a, swept b, swept c", "CREATE TABLE made AS SELECT i " + forever,
		"UPDATE kept SET i = (SELECT count(*) " + forever + ")", "INSERT INTO kept SELECT i " + forever, "COPY (SELECT i " + forever + ") TO STDOUT",
		"COPY (SELECT a.i FROM swept a, swept b, swept c) TO STDOUT", "COPY (SELECT a.i " + foreverTable + ") TO STDOUT", planned(60),
	} {
		forms["simple: "+sql] = []pgproto3.FrontendMessage{query(sign + "; " + sql)}
		forms["extended: "+sql] = append(append(execute(sign), execute(sql)...), &pgproto3.Sync{})
	}
	const later = "SELECT i FROM range(1000000000000000) r(i) WHERE i < 1000000 OR i % 7 = 8" // after some rows
	forms["EXECUTE"] = []pgproto3.FrontendMessage{query("DEALLOCATE ALL; PREPARE p AS SELECT count(*) " + foreverTable + "; " + sign + "; EXECUTE p")}
	forms["FETCH"] = []pgproto3.FrontendMessage{query(sign + "; BEGIN; DECLARE c CURSOR FOR " + later + "; FETCH 10 c; FETCH ALL c")}
	forms["a portal"] = append(execute(sign), &pgproto3.Parse{Query: later}, &pgproto3.Bind{DestinationPortal: "p"}, &pgproto3.Execute{Portal: "p", MaxRows: 10},
		&pgproto3.Execute{Portal: "p"}, &pgproto3.Sync{})
	forms["a portal that stands in the way"] = append(execute(sign), &pgproto3.Parse{Query: later}, &pgproto3.Bind{DestinationPortal: "p"},
		&pgproto3.Execute{Portal: "p", MaxRows: 10}, &pgproto3.Parse{Query: "SELECT count(*) FROM swept WHERE i % 7 = 1"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{})
	return forms
}

// planned is a join whose order is sought for long.
func planned(tables int) string {
	var from, where []string
	for i := range tables {
		from = append(from, fmt.Sprintf("swept AS t%d", i))
		if i > 0 {
			where = append(where, fmt.Sprintf("t%d.i = t%d.i", i, i/2), fmt.Sprintf("t%d.i + t%d.i > t%d.i", i, i/3, i/2))
		}
	}
	return "SELECT count(*) FROM " + strings.Join(from, ", ") + " WHERE " + strings.Join(where, " AND ")
}

// A cancel request may come at any moment while a message is processed, in any form of the protocol. The statement
// ends, its client gets the error, and the connection is soon ready again. The same holds for a statement_timeout,
// however short.
func TestCancelRequestsAtEveryMoment(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--workers", "0"}, {"--workers", "1", "--memory", "768MiB"}} {
		t.Run(strings.Join(flags[:2], " "), func(t *testing.T) { sweepNode(t, startNode(t, flags...)) })
	}
}

func sweepNode(t *testing.T, n *node) {
	admin := n.connect(t)
	for _, sql := range []string{"CREATE TABLE swept AS SELECT i FROM range(30000) r(i)", "CREATE TABLE kept AS SELECT i FROM range(3) r(i)"} {
		_, err := admin.Exec(deadline(t), sql)
		require.NoError(t, err)
	}
	r := n.raw(t)
	one := []string{"RowDescription", "DataRow", "SELECT 1", "ready I"}
	tries := 3 * testsuite.Effort()
	moments := func(t *testing.T, try func(moment time.Duration)) {
		for i := range tries {
			try(time.Duration((float64(i) + rand.Float64()) / float64(tries) * float64(30*time.Millisecond)))
			if status := r.say(query("ROLLBACK")); status[0] == "57014" {
				r.settled(query("ROLLBACK"))
			}
			require.Equal(t, one, r.say(query("SELECT 1")))
		}
	}
	for name, messages := range sweptForms() {
		t.Run(name, func(t *testing.T) {
			moments(t, func(moment time.Duration) {
				begun[*pgproto3.DataRow](r, messages...)
				time.Sleep(moment)
				require.NoError(t, r.cancel())
				heard := r.hear()
				require.Equal(t, "57014", heard[len(heard)-2], "cancelled after %v: %v", moment, heard)
			})
			if !strings.HasPrefix(name, "simple: ") {
				return
			}
			moments(t, func(moment time.Duration) {
				r.say(query(fmt.Sprintf("SET statement_timeout = %d", 1+moment.Milliseconds())))
				heard := r.say(query(strings.TrimPrefix(name, "simple: ")))
				require.Equal(t, "57014", heard[len(heard)-2], "after %v: %v", moment, heard)
				require.Equal(t, []string{"RESET", "ready I"}, r.settled(query("RESET statement_timeout")))
			})
		})
	}
	for name, data := range map[string]string{"COPY FROM": "1\n", "COPY FROM, of data that has ended": "1\n\\.\n"} {
		t.Run(name, func(t *testing.T) {
			moments(t, func(moment time.Duration) {
				begun[*pgproto3.CopyInResponse](r, query("COPY kept FROM STDIN"))
				r.frontend.Send(&pgproto3.CopyData{Data: []byte(data)})
				require.NoError(t, r.frontend.Flush())
				time.Sleep(moment)
				require.NoError(t, r.cancel())
				require.Equal(t, []string{"57014", "ready I"}, r.hear())
			})
		})
	}
	var rows, left int
	require.NoError(t, admin.QueryRow(deadline(t), "SELECT (SELECT count(*)::int FROM kept), (SELECT count(*)::int FROM csm.queries WHERE overdue)").Scan(&rows, &left))
	require.Equal(t, []int{3, 0}, []int{rows, left})
}
