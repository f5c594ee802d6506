package fragment

import "github.com/csmsql/csmsql/cluster/noderpc"

// Key distinguishes fragments whose plans differ.
func (p *Payload) Key(request noderpc.FragmentRequest) (string, error) { return p.key(request) }
