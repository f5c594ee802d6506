// Package place has the default places of a node's data and sockets, and finds the node that --to names.
package place

import (
	"os"
	"path/filepath"
	"strings"
)

// SocketName is the node's RPC socket in its data directory.
const SocketName = "csmsql.sock"

// DataVariable is the environment variable that names the data directory.
const DataVariable = "CSMSQL_DATA"

// DefaultData is the data directory of a user's node: $CSMSQL_DATA, or csmsql below $XDG_DATA_HOME or ~/.local/share,
// or ./csmsql-data if the user has no home.
func DefaultData() string {
	if dir := os.Getenv(DataVariable); dir != "" {
		return dir
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "csmsql")
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "csmsql")
	}
	return "csmsql-data"
}

// Target completes the value of --to: empty means the default node, a directory the node whose data directory it is,
// anything else is the socket's path or host:port as it stands.
func Target(to string) string {
	if to == "" {
		to = DefaultData()
	}
	path := strings.TrimPrefix(to, "unix:")
	if info, err := os.Stat(path); (err == nil && info.IsDir()) || to == DefaultData() {
		return filepath.Join(path, SocketName)
	}
	return to
}
