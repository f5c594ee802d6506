package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/cluster/certificate"
)

const clusterLong = `Several nodes that share one catalog and each other's memory.

A table may lie in the memory of any of them; every node reads every byte in place and answers every query, and a query
over several nodes' memory is split, each part running where its bytes lie.

On one machine no certificates are needed; nodes reach each other by their sockets:

  csmsql cluster init --data A --node a --pg 127.0.0.1:7001 && csmsql serve --data A &
  csmsql cluster join --data B --node b --pg 127.0.0.1:7002 --to A && csmsql serve --data B &
  csmsql cluster status --to A

Over a network all connections are mutual TLS: give init an --authority, or make certificates with "csmsql cluster cert".
docs/cluster.md has the whole story.`

func newCluster() *cobra.Command {
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Begin a cluster, join one, drain, fill or forget a node, and see how all are",
		Long:  clusterLong,
		Args:  group,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newClusterInit(), newClusterJoin(), newClusterDrain(), newClusterUndrain(), newClusterRebalance(), newClusterForget(), newClusterStatus(), newClusterCertificate())
	return c
}

func newClusterCertificate() *cobra.Command {
	var authority, node, client, out string
	var hosts []string
	c := &cobra.Command{
		Use:   "cert",
		Short: "Make a node's or a tool's certificate, and the cluster's authority if there is none",
		Long: `Make a certificate that the cluster's authority signs. The first call makes the authority itself: ca.crt, which
everybody gets, and ca.key, which must stay where it is: who has it can make nodes.

A node's files are ca.crt, node.crt and node.key; give their directory to "csmsql cluster init" or "join" with --certs. A
tool's are ca.crt, client.crt and client.key; give their directory with --certs to any command that has --to HOST:PORT.
The name in the certificate is who its holder is; addresses matter to etcd alone.`,
		Example: `  csmsql cluster cert --authority ~/ca --node a --host 10.0.0.1 --out a-certs
  csmsql cluster cert --authority ~/ca --client anna --out ~/.config/csmsql`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			who := certificate.Identity{Role: certificate.RoleNode, Name: node}
			if client != "" {
				who = certificate.Identity{Role: certificate.RoleClient, Name: client}
			}
			switch {
			case authority == "" || out == "":
				return usageError{errors.New("say where the authority is with --authority DIR and where the certificate goes with --out DIR")}
			case (node == "") == (client == ""):
				return usageError{errors.New("whose certificate? Give --node NAME or --client NAME")}
			case client != "" && len(hosts) > 0:
				return usageError{errors.New("--host is for --node: no client connects to a tool")}
			}
			return makeCertificate(c.OutOrStdout(), authority, out, who, hosts)
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&authority, "authority", "", "`directory` of the cluster's authority; made if it is not there")
	flags.StringVar(&node, "node", "", "`name` of the node")
	flags.StringVar(&client, "client", "", "`name` of the person or tool")
	flags.StringSliceVar(&hosts, "host", nil, "`address` or name at which the node is reached; for the node that runs etcd (may be repeated)")
	flags.StringVar(&out, "out", "", "`directory` for the files")
	return c
}

func makeCertificate(out io.Writer, directory, to string, who certificate.Identity, hosts []string) error {
	if err := issueCertificate(out, directory, to, who, hosts); err != nil {
		return err
	}
	if who.Role == certificate.RoleNode {
		fmt.Fprintf(out, "use it with: csmsql cluster init (or join) --node %s --certs %s --rpc HOST:PORT …\n", who.Name, to)
	} else {
		fmt.Fprintf(out, "use it with: csmsql cluster status --certs %s --to HOST:PORT\n", to)
	}
	return nil
}

// issueCertificate also makes the authority if there is none.
func issueCertificate(out io.Writer, directory, to string, who certificate.Identity, hosts []string) error {
	authority, err := certificate.LoadAuthority(directory)
	if _, missing := os.Stat(filepath.Join(directory, certificate.AuthorityCertificate)); errors.Is(missing, fs.ErrNotExist) {
		if authority, err = certificate.CreateAuthority(directory, "csmsql"); err == nil {
			fmt.Fprintf(out, "made the cluster's authority in %s; keep ca.key there\n", directory)
		}
	}
	if err != nil {
		return err
	}
	if who.Role == certificate.RoleNode && len(hosts) == 0 {
		hosts = []string{"127.0.0.1", "localhost"}
	}
	pair, err := authority.Issue(who, certificate.IssueOptions{Hosts: hosts})
	if err != nil {
		return err
	}
	if err := pair.Write(to); err != nil {
		return err
	}
	fmt.Fprintf(out, "made the certificate of %v in %s, good for a year\n", who, to)
	return nil
}
