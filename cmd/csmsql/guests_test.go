package main_test

import (
	"context"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// A client that connects over TCP is a guest: csm.queries shows it neither other users' texts nor what their errors
// quote. A client of the node's own socket sees both.
func TestClientsOverTCPAreGuests(t *testing.T) {
	n := shared.get(t)
	connect := func(where, user string) *pgx.Conn {
		c, err := pgx.Connect(deadline(t), where+" user="+user+" dbname=csmsql sslmode=disable default_query_exec_mode=simple_protocol")
		require.NoError(t, err)
		t.Cleanup(func() { c.Close(context.Background()) })
		return c
	}
	host, port, err := net.SplitHostPort(n.frontend.Address)
	require.NoError(t, err)
	const socket = "port=5432 host="
	tcp := "host=" + host + " port=" + port
	_, err = connect(tcp, "guest_anna").Exec(deadline(t), "SELECT ('a secret' || ' of anna')::int")
	require.Error(t, err)
	const asked = `SELECT count(*) FILTER (query LIKE '%a secret%'), count(*) FILTER (error LIKE '%a secret%'), count(*) FILTER (error = '<insufficient privilege>')
		FROM csm.queries WHERE "user" = 'guest_anna' AND error IS NOT NULL`
	for _, c := range []struct {
		where, user string
		sees        [3]int
	}{
		{tcp, "guest_bert", [3]int{0, 0, 1}},
		{tcp, "guest_anna", [3]int{1, 1, 0}},
		{socket + n.data, "guest_bert", [3]int{1, 1, 0}},
	} {
		var sees [3]int
		require.NoError(t, connect(c.where, c.user).QueryRow(deadline(t), asked).Scan(&sees[0], &sees[1], &sees[2]))
		require.Equal(t, c.sees, sees, "%s at %s", c.user, c.where)
	}
}

// TestFilesOutOfReach: SQL cannot read the server's files, nor the network.
func TestFilesOutOfReach(t *testing.T) {
	conn, ctx := shared.get(t).connect(t), deadline(t)
	for _, sql := range []string{
		"SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'", "COPY (SELECT 1) TO '/tmp/csmsql-must-not-be.csv'",
		"SELECT * FROM read_text('/etc/hostname')", "INSTALL httpfs", "LOAD httpfs", "ATTACH '/tmp/csmsql-must-not-be.db'",
		"SET enable_external_access = true",
	} {
		_, err := conn.Exec(ctx, sql)
		require.Error(t, err, sql)
	}
}
