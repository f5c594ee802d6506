package noderpc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What gRPC says of a connection is reported without its internals.
func TestPlainly(t *testing.T) {
	for said, want := range map[string]string{
		`connection error: desc = "transport: Error while dialing: dial unix /a/csmsql.sock: connect: connection refused"`: "dial unix /a/csmsql.sock: connect: connection refused",
		`connection error: desc = "error reading server preface: EOF"`:                                                     "it closes the connection at once",
		`connection error: desc = broken`: "connection error: desc = broken",
		"unknown service x":               "unknown service x",
	} {
		require.Equal(t, want, plainly(said))
	}
}
