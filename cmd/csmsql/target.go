package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/place"
)

// target is the node that a command talks to.
type target struct {
	to           string
	certificates string
}

// flags adds --to and --certs.
func (t *target) flags(c *cobra.Command) {
	c.Flags().StringVar(&t.to, "to", "", "`target`: the node's socket, its data directory or host:port (default "+place.Target("")+")")
	c.Flags().StringVar(&t.certificates, "certs", "", "`directory` with ca.crt, client.crt and client.key, for the host:port of a cluster's node")
}

// address is where the node is.
func (t *target) address() string { return place.Target(t.to) }

// credentials are what --certs names: a tool's certificate or, for want of it, a node's; nil without --certs.
func (t *target) credentials() (*certificate.Credentials, error) {
	if t.certificates == "" {
		return nil, nil
	}
	files := certificate.FilesIn(t.certificates, certificate.RoleClient)
	if _, err := os.Stat(files.Certificate); errors.Is(err, fs.ErrNotExist) {
		if own := certificate.FilesIn(t.certificates, certificate.RoleNode); exists(own.Certificate) {
			files = own
		}
	}
	return certificate.Load(files)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// options are how the node is dialled.
func (t *target) options() ([]noderpc.DialOption, error) {
	credentials, err := t.credentials()
	if credentials == nil || err != nil {
		return nil, err
	}
	return []noderpc.DialOption{noderpc.WithTLS(credentials, "")}, nil
}

// dial connects to the node's RPC.
func (t *target) dial(ctx context.Context) (*noderpc.Client, error) {
	options, err := t.options()
	if err != nil {
		return nil, err
	}
	return noderpc.Dial(ctx, t.address(), options...)
}
