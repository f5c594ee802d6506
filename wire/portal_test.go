package wire_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/wire"
)

// In a block that has failed no portal goes on, as no statement does: neither one that was suspended, nor one that is done. Compared with a PostgreSQL 15.
func TestPortalsOfAFailedBlock(t *testing.T) {
	frontend := newFrontend(t, startServer(t, wire.Options{}))
	execute := func(portal string, limit uint32) pgproto3.FrontendMessage {
		return &pgproto3.Execute{Portal: portal, MaxRows: limit}
	}
	require.Equal(t, []string{"BEGIN", "suspended", "SELECT 1"}, talk(t, frontend,
		&pgproto3.Query{String: "BEGIN"}, &pgproto3.Parse{Query: "ROWS 5"}, &pgproto3.Bind{DestinationPortal: "suspended"}, execute("suspended", 2),
		&pgproto3.Parse{Query: "SELECT"}, &pgproto3.Bind{DestinationPortal: "done"}, execute("done", 0), &pgproto3.Sync{}))
	require.Equal(t, []string{"22012 division by zero"}, talk(t, frontend, &pgproto3.Query{String: "FAIL"}))
	const aborted = "25P02 current transaction is aborted, commands ignored until end of transaction block"
	for _, portal := range []string{"suspended", "done"} {
		require.Equal(t, []string{aborted}, talk(t, frontend, execute(portal, 1), &pgproto3.Sync{}), portal)
	}
	require.Equal(t, []string{"ROLLBACK"}, talk(t, frontend, &pgproto3.Query{String: "ROLLBACK"}))
	require.Equal(t, []string{`34000 portal "suspended" does not exist`}, talk(t, frontend, execute("suspended", 1), &pgproto3.Sync{}))
}
