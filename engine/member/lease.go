package member

import (
	"time"

	"github.com/csmsql/csmsql/cluster/etcd"
	"github.com/csmsql/csmsql/coherence"
)

// LeaseParts of a borrower's leases make a session: it is renewed more often than they are.
const LeaseParts = 4

// SessionTTL is how long the cluster waits for this node.
func (n *Node) SessionTTL() time.Duration {
	if ttl := n.config.Cluster.SessionTTL; ttl > 0 {
		return ttl
	}
	return etcd.DefaultSessionTTL
}

// LocalDomain is the coherence domain of a node's own process.
const LocalDomain coherence.Domain = "local"

// Patience bounds how long this node waits for what another one says of itself.
const Patience = time.Second
