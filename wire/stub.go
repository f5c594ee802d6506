package wire

import (
	"context"
	"net"
)

type registry struct{}

func newRegistry() registry { return registry{} }

func (s *Server) watchDisconnects(ctx context.Context) {}

func (s *Server) serveConnection(ctx context.Context, network net.Conn) {}
