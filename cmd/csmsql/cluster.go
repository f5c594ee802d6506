package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/bytesize"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/conversation"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/place"
)

const clusterLong = `Several nodes that share one catalog and each other's memory.

A table may lie in the memory of any of them; every node reads every byte in place and answers every query, and a query
over several nodes' memory is split, each part running where its bytes lie.

On one machine no certificates are needed; nodes reach each other by their sockets:

  csmsql serve --node a --data A --pg 127.0.0.1:7001 --cluster-init
  csmsql serve --node b --data B --pg 127.0.0.1:7002 --etcd unix://$PWD/A/etcd/etcd.sock
  csmsql cluster status --to A

Over a network all connections are mutual TLS; "csmsql cluster cert" makes the certificates. docs/cluster.md has the
whole story.`

func newCluster() *cobra.Command {
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Make certificates for a cluster's nodes, and see how they are",
		Long:  clusterLong,
		Args:  group,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newClusterCertificate(), newClusterStatus())
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

A node's files are ca.crt, node.crt and node.key; give their directory to "csmsql serve --certs". A tool's are ca.crt,
client.crt and client.key. The name in the certificate is who its holder is; addresses matter to etcd alone.`,
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
	if who.Role == certificate.RoleNode {
		fmt.Fprintf(out, "start it with: csmsql serve --node %s --certs %s --rpc HOST:PORT --etcd … (or --cluster-init)\n", who.Name, to)
	}
	return nil
}

func newClusterStatus() *cobra.Command {
	var to string
	var asJSON bool
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show the cluster's nodes and what lies where, as one of them sees it",
		Example: "  csmsql cluster status\n  csmsql cluster status --to /srv/a --json",
		Args:    noArguments,
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, _ []string) error {
			return clusterStatus(ctx, c.OutOrStdout(), to, asJSON)
		}),
	}
	targetFlag(c, &to)
	c.Flags().BoolVar(&asJSON, "json", false, "for programs; sizes in bytes")
	return c
}

// clusterNode and clusterTable are what csm.nodes and csm.tables say; the names are those of the JSON.
type clusterNode struct {
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Address  string    `json:"address"`
	Frontend string    `json:"frontend"`
	Started  time.Time `json:"started"`
	Bytes    int64     `json:"bytes"`
	Capacity int64     `json:"capacity"`
}

type clusterTable struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	Nodes string `json:"nodes"`
}

type clusterState struct {
	Nodes  []clusterNode  `json:"nodes"`
	Tables []clusterTable `json:"tables"`
}

const (
	clusterNodesSQL = `SELECT n.name, n.state, coalesce(n.address, ''), coalesce(n.frontend, ''), n.started,
		coalesce(sum(r.bytes), 0)::BIGINT, coalesce(sum(r.capacity), 0)::BIGINT
		FROM csm.nodes n LEFT JOIN csm.regions r ON r.node = n.name GROUP BY ALL ORDER BY n.name`
	clusterTablesSQL = `SELECT schema || '.' || name, rows, bytes, coalesce(nodes, '') FROM csm.tables ORDER BY 1`
)

func clusterStatus(ctx context.Context, out io.Writer, to string, asJSON bool) error {
	talk, err := conversation.Dial(ctx, place.Target(to), func(conversation.Notice) {})
	if err != nil {
		return err
	}
	defer talk.Close() // only statements that have ended
	var state clusterState
	err = talk.Run(ctx, clusterNodesSQL, rowSink(func(v []string) error {
		n := clusterNode{Name: v[0], State: v[1], Address: v[2], Frontend: v[3]}
		var err error
		if n.Started, err = time.Parse("2006-01-02 15:04:05.999999", v[4]); err != nil {
			return err
		}
		state.Nodes = append(state.Nodes, n)
		last := &state.Nodes[len(state.Nodes)-1]
		return errors.Join(number(v[5], &last.Bytes), number(v[6], &last.Capacity))
	}))
	if err != nil {
		return err
	}
	err = talk.Run(ctx, clusterTablesSQL, rowSink(func(v []string) error {
		state.Tables = append(state.Tables, clusterTable{Name: v[0], Nodes: v[3]})
		last := &state.Tables[len(state.Tables)-1]
		return errors.Join(number(v[1], &last.Rows), number(v[2], &last.Bytes))
	}))
	if err != nil {
		return err
	}
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(state)
	}
	return printCluster(out, state, time.Now())
}

func number(text string, to *int64) (err error) {
	*to, err = strconv.ParseInt(text, 10, 64)
	return err
}

// rowSink takes rows as text; NULL is empty.
type rowSink func(values []string) error

// Begin implements conversation.Sink.
func (rowSink) Begin([]conversation.Column) error { return nil }

// Row implements conversation.Sink.
func (take rowSink) Row(values [][]byte) error {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return take(texts)
}

// End implements conversation.Sink.
func (rowSink) End(string) error { return nil }

func printCluster(out io.Writer, s clusterState, now time.Time) error {
	var text strings.Builder
	table(&text, "node\tstate\tup\tused\tof\tpsql\trpc", len(s.Nodes), func(i int) []any {
		n := s.Nodes[i]
		return []any{n.Name, n.State, now.Sub(n.Started).Round(time.Second), bytesize.Size(n.Bytes), bytesize.Size(n.Capacity), n.Frontend, n.Address}
	})
	table(&text, "table\trows\tsize\tlies at", len(s.Tables), func(i int) []any {
		t := s.Tables[i]
		return []any{t.Name, t.Rows, bytesize.Size(t.Bytes), t.Nodes}
	})
	_, err := io.WriteString(out, text.String())
	return err
}
