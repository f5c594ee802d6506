package noderpc

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
)

// access says which callers may make a call.
type access uint8

const (
	// anyCaller: every caller that got in. Over plain TCP that is every process on this machine.
	anyCaller access = iota
	// identified: the node's own user over its unix socket, or any certificate of the cluster.
	identified
	// nodes: the node's own user, or another node.
	nodes
)

// accessOf has every method; one that were forgotten would be for nodes.
var accessOf = map[string]access{
	nodepb.Node_Hello_FullMethodName:                   anyCaller,
	nodepb.Node_Describe_FullMethodName:                anyCaller,
	nodepb.Node_Lease_FullMethodName:                   anyCaller,
	nodepb.Node_Tables_FullMethodName:                  anyCaller,
	nodepb.Node_Page_FullMethodName:                    anyCaller,
	nodepb.Node_Renew_FullMethodName:                   anyCaller,
	nodepb.Node_Release_FullMethodName:                 anyCaller,
	nodepb.Node_Acquire_FullMethodName:                 identified, // and of this machine, says the handler
	nodepb.Node_Await_FullMethodName:                   anyCaller,
	nodepb.Node_Status_FullMethodName:                  anyCaller,
	nodepb.Node_Load_FullMethodName:                    anyCaller, // the handler decides which callers may name files
	nodepb.Node_LoadTPCH_FullMethodName:                anyCaller,
	nodepb.Node_Verify_FullMethodName:                  anyCaller,
	nodepb.Coordination_Ping_FullMethodName:            anyCaller,
	nodepb.Lending_Grant_FullMethodName:                nodes,
	nodepb.Lending_Reallocate_FullMethodName:           nodes,
	nodepb.Lending_Seal_FullMethodName:                 nodes,
	nodepb.Lending_Publish_FullMethodName:              nodes,
	nodepb.Lending_Free_FullMethodName:                 nodes,
	nodepb.Lending_Pin_FullMethodName:                  nodes,
	nodepb.Lending_Unpin_FullMethodName:                nodes,
	nodepb.Lending_Left_FullMethodName:                 nodes,
	nodepb.Lending_Held_FullMethodName:                 nodes,
	nodepb.Fragments_Run_FullMethodName:                nodes,
	nodepb.Coordination_Collect_FullMethodName:         nodes,
	nodepb.Coordination_Drain_FullMethodName:           identified,
	nodepb.Administration_ClusterStatus_FullMethodName: identified,
	nodepb.Administration_DrainNode_FullMethodName:     identified,
	nodepb.Administration_Rebalance_FullMethodName:     identified,
}

func (a access) admits(p Peer) bool {
	switch a {
	case nodes:
		return p.Known || p.Identity.Role == certificate.RoleNode
	case identified:
		return p.Identified()
	}
	return true
}

// checkAccess looks at the caller's certificate at every call: a connection may live longer than it.
func (s *Server) checkAccess(ctx context.Context, method string) error {
	wanted, known := accessOf[method]
	if !known {
		wanted = nodes
	}
	p := PeerOf(ctx)
	if !p.Until.IsZero() && time.Now().After(p.Until) {
		err := &Error{
			State: stateAuthorization, Cause: certificate.ErrExpired,
			Message:  fmt.Sprintf("the certificate of %v has expired at %v", p.Identity, p.Until.UTC().Format(time.RFC3339)),
			HintText: "Make a new one with “csmsql cluster cert” and start again with it.",
		}
		s.options.Refusals.Call(ctx, refusal.Expired, p, path.Base(method), err)
		return err
	}
	if wanted.admits(p) {
		return nil
	}
	err := &Error{State: statePrivilege, Message: fmt.Sprintf("%s is not for %v", path.Base(method), p)}
	switch {
	case wanted == nodes && p.Identified():
		err.HintText = "Only nodes may, with a certificate that says csmsql://node/NAME."
	default:
		err.HintText = "Connect to the node's unix socket, or with a certificate of the cluster."
	}
	s.options.Refusals.Call(ctx, refusal.Role, p, path.Base(method), err)
	return err
}
