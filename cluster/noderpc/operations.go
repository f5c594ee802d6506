package noderpc

import "context"

// Operations are what a node of a cluster does for operators; the engine implements it. The rules are
// those of Node.
type Operations interface {
	// Drain says that the node is to take no new chunks and no fragments (on), or may again.
	Drain(ctx context.Context, on bool) error
}
