package fragment

import "github.com/csmsql/csmsql/cluster/noderpc"

// Key tells fragments apart whose plans differ.
func (p *Payload) Key(request noderpc.FragmentRequest) (string, error) { return p.key(request) }
