package main_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
)

// fleet is a cluster of nodes that cluster init and join made, in directories that go with the test.
type fleet struct {
	t         *testing.T
	directory string
	region    string
	fabric    string
	nodes     map[string]*node
}

func newFleet(t *testing.T) *fleet {
	directory, region, fabric, err := workspace()
	require.NoError(t, err)
	f := &fleet{t: t, directory: directory, region: region, fabric: fabric, nodes: map[string]*node{}}
	t.Cleanup(func() {
		for _, n := range f.nodes { // at once: each may be needed for etcd's majority
			if n.command.ProcessState == nil {
				require.NoError(t, n.command.Process.Signal(syscall.SIGTERM))
			}
		}
		for _, n := range f.nodes {
			if n.command.ProcessState == nil {
				require.NoError(t, n.wait())
			}
		}
		require.NoError(t, os.RemoveAll(directory))
		require.NoError(t, os.RemoveAll(region))
	})
	return f
}

func (f *fleet) data(name string) string { return filepath.Join(f.directory, name) }

// make makes a node's data directory.
func (f *fleet) make(command, name string, more ...string) (out, errOut string, code int) {
	f.t.Helper()
	args := []string{
		"cluster", command, "--node", name, "--data", f.data(name), "--region-dir", f.region, "--fabric", f.fabric, "--region", "256MiB",
		"--memory", "256MiB", "--pg", "127.0.0.1:0", "--http", "127.0.0.1:0",
	}
	return run(f.t, "", append(args, more...)...)
}

// serve starts a node from its data directory, at first or again, with more flags.
func (f *fleet) serve(name string, more ...string) *node {
	f.t.Helper()
	n := &node{directory: f.directory, data: f.data(name), region: f.region}
	f.nodes[name] = n
	require.NoError(f.t, n.launch(append([]string{"serve", "--data", n.data}, more...)))
	return n
}

func (f *fleet) begin(command, name string, more ...string) *node {
	f.t.Helper()
	_, errOut, code := f.make(command, name, more...)
	require.Zero(f.t, code, errOut)
	return f.serve(name)
}

func (f *fleet) kill(name string) {
	f.t.Helper()
	require.Error(f.t, f.nodes[name].signal(syscall.SIGKILL))
}

func (f *fleet) status(of string, more ...string) (s noderpc.ClusterStatus) {
	f.t.Helper()
	out, errOut, code := f.nodes[of].csmsql(f.t, "", append([]string{"cluster", "status", "--json"}, more...)...)
	require.Zero(f.t, code, errOut)
	require.NoError(f.t, json.Unmarshal([]byte(out), &s))
	return s
}

func metrics(t *testing.T, n *node) string {
	match := regexp.MustCompile(`http://(\S+)/metrics`).FindStringSubmatch(n.banner)
	require.NotNil(t, match)
	return get(t, "http://"+match[1]+"/metrics")
}

// Three members of etcd bear the loss of one; without a majority commits fail and say why, and what an open transaction reads it
// reads on.
func TestClusterLosesItsMajority(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	_, errOut, code := f.make("init", "a")
	require.Zero(t, code, errOut)
	f.serve("a", "--etcd-quota", "64MiB", "--etcd-history", "5m")
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + filepath.Join(f.data("a"), "etcd", "etcd.sock")}})
	require.NoError(t, err)
	defer etcd.Close()
	status, err := etcd.Status(deadline(t), etcd.Endpoints()[0])
	require.NoError(t, err)
	require.Equal(t, int64(64<<20), status.DbSizeQuota)
	_, errOut, code = f.make("join", "a2", "--node", "a", "--to", f.data("a"))
	require.Equal(t, 1, code)
	require.Contains(t, errOut, `"a" runs at `)
	require.NoFileExists(t, filepath.Join(f.data("a2"), "serve.json"))
	_, errOut, code = f.make("init", "a")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "is a node's already: start it with")
	f.begin("join", "b", "--to", f.data("a"), "--etcd-member")
	c := f.begin("join", "c", "--to", f.data("a"), "--etcd-member")

	s := f.status("c")
	require.Empty(t, s.Trouble)
	require.Len(t, s.Nodes, 3)
	require.Len(t, s.Etcd, 3)
	leaders := 0
	for _, m := range s.Etcd {
		require.Empty(t, m.Trouble)
		require.False(t, m.Learner)
		if m.Leader {
			leaders++
		}
	}
	require.Equal(t, 1, leaders)

	conn := c.connect(t)
	_, err = conn.Exec(deadline(t), "CREATE TABLE t WITH (placement = 'rows(b, c)') AS SELECT range AS a FROM range(300000)")
	require.NoError(t, err)
	f.kill("a")
	require.Eventually(t, func() bool { // etcd chooses another leader, if a was it
		_, err := conn.Exec(deadline(t), "INSERT INTO t VALUES (1)")
		return err == nil
	}, patience, 100*time.Millisecond)
	require.Contains(t, metrics(t, c), `csmsql_etcd_commits_total{outcome="done"}`)

	tx, err := c.connect(t).BeginTx(deadline(t), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	require.Equal(t, 300001, rowsOf(t, tx, "SELECT count(*) FROM t WHERE a >= 0"))
	var notices []string
	config, err := pgx.ParseConfig(c.url())
	require.NoError(t, err)
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices = append(notices, n.Message) }
	aged, err := pgx.ConnectConfig(deadline(t), config)
	require.NoError(t, err)
	defer aged.Close(context.Background())
	own := "SELECT count(*) FROM own"
	for _, sql := range []string{
		"CREATE TABLE own WITH (placement = 'rows(c)') AS SELECT range AS a FROM range(1000)", "SET csm.max_staleness = '1h'",
	} {
		_, err := aged.Exec(deadline(t), sql)
		require.NoError(t, err)
	}
	f.kill("b")
	// b's memory can still be read, and c is sure of its own session for a while yet.
	require.Equal(t, 300001, rowsOf(t, tx, "SELECT count(*) FROM t WHERE a >= 0"))
	_, err = conn.Exec(deadline(t), "INSERT INTO t VALUES (2)")
	var failure *pgconn.PgError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, "57P03", failure.Code)
	require.Contains(t, failure.Message, "has no majority")
	require.Equal(t, 1, rowsOf(t, tx, "SELECT count(*) FROM t WHERE a = 299999"), "an open transaction reads on")
	var count int
	require.NoError(t, aged.QueryRow(deadline(t), own).Scan(&count), "a session that accepts older rows asks nothing of etcd")
	require.Equal(t, 1000, count)
	copied, err := aged.PgConn().CopyTo(deadline(t), io.Discard, "COPY own TO STDOUT")
	require.NoError(t, err)
	require.Equal(t, int64(1000), copied.RowsAffected())
	_, err = aged.Exec(deadline(t), "DELETE FROM own")
	require.ErrorAs(t, err, &failure)
	require.Equal(t, "57P03", failure.Code, "what writes asks")
	out, errOut, code := c.csmsql(t, "", "cluster", "status")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "it does not know all, and shows what it last heard")
	require.Contains(t, out, "public.t")
	require.Eventually(t, func() bool {
		return rowsOf(t, tx, "SELECT count(*) FROM csm.nodes WHERE self AND name = 'c' AND state = 'unsure'") == 1
	}, patience, 50*time.Millisecond, "what it promised the cluster to ask for is over, and it says so")
	require.NoError(t, aged.QueryRow(deadline(t), own).Scan(&count), "its own memory is its own")
	require.Equal(t, 1000, count)
	require.NotEmpty(t, notices)
	require.Regexp(t, `^the rows may be up to \d+(m\d+)?(\.\d)?s older than the last commit: the cluster's etcd`, notices[len(notices)-1])
	_, err = aged.Exec(deadline(t), "SET csm.max_staleness = '1s'")
	require.NoError(t, err)
	require.ErrorAs(t, aged.QueryRow(deadline(t), own).Scan(&count), &failure)
	require.Equal(t, "57P03", failure.Code, "they are older than that by now")

	f.serve("b")
	require.Eventually(t, func() bool {
		_, err := conn.Exec(deadline(t), "INSERT INTO t VALUES (3)")
		return err == nil
	}, patience, 100*time.Millisecond, "it goes on by itself")
}

func rowsOf(t *testing.T, tx pgx.Tx, sql string) (n int) {
	t.Helper()
	require.NoError(t, tx.QueryRow(deadline(t), sql).Scan(&n))
	return n
}

// What a drained node held is elsewhere, and the node can be stopped without a loss.
func TestClusterDrain(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a := f.begin("init", "a")
	f.begin("join", "b", "--to", f.data("a"))
	_, errOut, code := a.csmsql(t, "", "sql", "-c", "CREATE TABLE t WITH (placement = 'rows') AS SELECT range AS a FROM range(3000000)")
	require.Zero(t, code, errOut)
	before := f.status("a")
	require.Positive(t, before.Nodes[1].Chunks)

	_, errOut, code = a.csmsql(t, "", "cluster", "drain")
	require.Equal(t, 2, code)
	require.Contains(t, errOut, "which node?")
	_, errOut, code = a.csmsql(t, "", "cluster", "drain", "absent")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "absent")
	_, errOut, code = a.csmsql(t, "", "cluster", "undrain", "absent")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, `node "absent" does not exist`)
	out, errOut, code := a.csmsql(t, "", "cluster", "drain", "b")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "Node b is drained")
	require.NotContains(t, out, "still holds")
	after := f.status("b")
	require.Equal(t, "draining", after.Nodes[1].State)
	require.Zero(t, after.Nodes[1].Chunks)
	require.Equal(t, before.Nodes[0].Bytes+before.Nodes[1].Bytes, after.Nodes[0].Bytes)
	out, errOut, code = a.csmsql(t, "", "cluster", "undrain", "b")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "takes rows and parts of queries again")
	require.Equal(t, "online", f.status("a").Nodes[1].State)
	_, _, code = a.csmsql(t, "", "cluster", "drain", "b")
	require.Zero(t, code)
	_, errOut, code = a.csmsql(t, "", "cluster", "forget", "b")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "node b is there (draining)")
	_, errOut, code = a.csmsql(t, "", "cluster", "forget", "absent")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, `node "absent" does not exist`)
	require.NoError(t, f.nodes["b"].signal(syscall.SIGTERM))
	out, errOut, code = a.csmsql(t, "", "sql", "-c", "SELECT sum(a)::BIGINT FROM t")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "4499998500000")
	require.NoError(t, os.RemoveAll(f.data("b")))
	_, errOut, code = f.make("join", "b", "--to", f.data("a"))
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "which is not running")
	out, errOut, code = a.csmsql(t, "", "cluster", "forget", "b")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "Node b is forgotten.")
	f.begin("join", "b", "--to", f.data("a"))
	require.Equal(t, "online", f.status("a").Nodes[1].State)
}

// TestClusterRebalance: a node that has joined is filled, and the command shows what each node has then. What it cannot
// do it says.
func TestClusterRebalance(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a := f.begin("init", "a")
	_, errOut, code := a.csmsql(t, "", "sql", "-c", "CREATE TABLE t AS SELECT range AS a FROM range(8000000)")
	require.Zero(t, code, errOut)
	_, errOut, code = a.csmsql(t, "", "cluster", "rebalance")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, `only node "a" takes rows`)
	b := f.begin("join", "b", "--to", f.data("a"))
	before := f.status("a")
	require.Zero(t, before.Nodes[1].Chunks)

	_, errOut, code = a.csmsql(t, "", "sql", "-c", "CREATE TABLE h WITH (placement = 'hash(k) on (a)') AS SELECT range AS k FROM range(10)")
	require.Zero(t, code, errOut)
	out, errOut, code := b.csmsql(t, "", "cluster", "rebalance")
	require.Zero(t, code, errOut)
	require.Regexp(t, `^Moved \d+ chunks, [0-9.]+ MiB, in `, out)
	require.Regexp(t, `public\.t +[1-9][0-9,]* rows in `, errOut)
	require.Regexp(t, `(?m)^b +online +[1-9]`, out)
	require.Contains(t, out, "1 table, ")
	require.Contains(t, out, "stays where the placement hash(k) on (a) says.")
	after := f.status("a")
	require.InEpsilon(t, after.Nodes[0].Bytes, after.Nodes[1].Bytes, 0.35, "whole chunks: %s", out)
	out, errOut, code = a.csmsql(t, "", "cluster", "rebalance")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "There is nothing to move.\n")
	out, errOut, code = a.csmsql(t, "", "sql", "-c", "SELECT sum(a)::BIGINT FROM t")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "31999996000000")

	_, errOut, code = a.csmsql(t, "", "cluster", "drain", "b")
	require.Zero(t, code, errOut)
	require.Regexp(t, `public\.t +[1-9][0-9,]* rows in `, errOut, "the rows that have moved")
	_, errOut, code = a.csmsql(t, "", "cluster", "rebalance")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, `(node "b" is draining)`)
	_, errOut, code = a.csmsql(t, "", "cluster", "undrain", "b")
	require.Zero(t, code, errOut)
	require.NoError(t, b.command.Process.Signal(syscall.SIGSTOP))
	_, errOut, code = a.csmsql(t, "", "cluster", "rebalance")
	require.NoError(t, b.command.Process.Signal(syscall.SIGCONT))
	require.Equal(t, 1, code)
	require.Contains(t, errOut, `node "b"`)
}

// Tools reach nodes by host:port with certificates, and only with them. The log and the metrics show which calls of
// which peers were refused.
func TestClusterCertificates(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	authority, tool, foreign := f.data("ca"), f.data("tool"), f.data("foreign")
	a := f.begin("init", "a", "--authority", authority, "--rpc", "127.0.0.1:0")
	f.begin("join", "b", "--authority", authority, "--rpc", "127.0.0.1:0", "--to", f.data("a"))
	for _, args := range [][]string{
		{"--authority", authority, "--client", "anna", "--out", tool},
		{"--authority", f.data("other"), "--client", "eve", "--out", foreign},
	} {
		_, errOut, code := run(t, "", append([]string{"cluster", "cert"}, args...)...)
		require.Zero(t, code, errOut)
	}
	s := f.status("a")
	require.Equal(t, []string{"", ""}, []string{s.Nodes[0].Trouble, s.Nodes[1].Trouble})
	at := s.Nodes[0].Address
	with := func(certificates string, args ...string) (out, errOut string, code int) {
		t.Helper()
		return run(t, "", append(args, "--to", at, "--certs", certificates)...)
	}
	for want, args := range map[string][]string{
		"node a, csmsql":              {"status"},
		"as node a sees it":           {"cluster", "status"},
		"scale factor 0.01 is loaded": {"tpch", "load", "--sf", "0.01", "--placement", "rows(a, b)"},
	} {
		out, errOut, code := with(tool, args...)
		require.Zero(t, code, errOut)
		require.Contains(t, out, want)
	}
	require.NoError(t, os.WriteFile(f.data("rows.csv"), []byte("a,b\n1,x\n2,y\n"), 0o600))
	out, errOut, code := with(tool, "load", "rows", f.data("rows.csv"))
	require.Zero(t, code, errOut)
	require.Contains(t, out, "2 rows")
	for _, attach := range []string{"--attach=false", "--attach"} { // the tables lie at both nodes
		out, errOut, code = with(tool, "tpch", "run", "--query", "1,6,14", attach)
		require.Zero(t, code, out+errOut)
	}
	out, errOut, code = with(tool, "cluster", "drain", "b")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "Node b is drained")

	_, errOut, code = with(foreign, "status")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "is not signed by this cluster's authority")
	_, errOut, code = run(t, "", "status", "--to", at)
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "--certs")
	_, errOut, code = with(f.data("nowhere"), "status")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "does not exist")
	body := metrics(t, a)
	for _, line := range []string{
		`csmsql_cluster_members{state="draining"} 1`, `csmsql_cluster_member_info{member="a",state="online"} 1`,
		`csmsql_etcd_commit_seconds_bucket{le="+Inf"}`, `csmsql_commit_group_transactions_bucket{le="1"}`, `csmsql_insert_group_transactions_count`,
		`csmsql_inserts_handed_over_total{outcome="settled"} 0`, `csmsql_read_bytes_total{where="local"}`, `csmsql_fragments_run_total{outcome="failed"}`,
	} {
		require.Contains(t, body, line)
	}
	refuseConnections(t, a, at, foreign)
	refuseCalls(t, a, at, filepath.Join(f.data("b"), "certs"), tool)
}

// eventually waits for a line of the metrics: the peer gets a refusal before it is counted.
func eventually(t *testing.T, n *node, line string) {
	t.Helper()
	matches := regexp.MustCompile(line)
	require.Eventually(t, func() bool { return matches.MatchString(metrics(t, n)) }, patience, 20*time.Millisecond, line)
}

// refuseConnections: connections with certificates of another authority, and without any, are refused; the log and the
// metrics show it.
func refuseConnections(t *testing.T, n *node, at, foreign string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(foreign, "client.crt"), filepath.Join(foreign, "client.key"))
	require.NoError(t, err)
	for reason, certificates := range map[string][]tls.Certificate{"foreign_authority": {pair}, "no_certificate": nil} {
		conn, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true, Certificates: certificates, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}})
		if err == nil {
			_, err = conn.Read(make([]byte, 1)) // the server's word on the certificate comes after the handshake
			conn.Close()
		}
		require.Error(t, err)
		eventually(t, n, `csmsql_rpc_refused_connections_total\{reason="`+reason+`"\} [1-9]`)
	}
	refused := regexp.MustCompile(`refused a connection.* reason=foreign_authority .*eve`) // it is counted before it is logged
	require.Eventually(t, func() bool { return refused.MatchString(n.stderr.String()) }, patience, 20*time.Millisecond)
}

// refuseCalls: forged and oversized calls of a node, and any about memory of a tool, are logged with peer and call, and
// counted.
func refuseCalls(t *testing.T, n *node, at, ofNode, ofTool string) {
	t.Helper()
	dial := func(directory string, role certificate.Role) *noderpc.Client {
		own, err := certificate.Load(certificate.FilesIn(directory, role))
		require.NoError(t, err)
		client, err := noderpc.Dial(deadline(t), at, noderpc.WithTLS(own, ""))
		require.NoError(t, err)
		t.Cleanup(func() { client.Close() })
		return client
	}
	b, anna := dial(ofNode, certificate.RoleNode), dial(ofTool, certificate.RoleClient)
	description, err := b.Describe(deadline(t))
	require.NoError(t, err)
	not := catalog.ExtentID{Region: description.Regions[0].ID, Generation: 1} // of the tables
	require.Error(t, b.Free(deadline(t), noderpc.FreeRequest{Extents: []catalog.ExtentID{not}}))
	require.Error(t, b.Publish(deadline(t), false, not))
	_, err = b.Grant(deadline(t), noderpc.GrantRequest{Region: not.Region, Size: 1 << 44, Ticket: 1, Owner: "t"})
	require.Error(t, err)
	_, err = anna.Grant(deadline(t), noderpc.GrantRequest{Region: not.Region, Size: 1 << 12, Ticket: 1, Owner: "t"})
	require.Error(t, err)
	for _, kind := range []string{
		`call="Free",peer="[^"]*b",reason="(forged|replayed)"`, `call="Publish",peer="[^"]*b",reason="(forged|replayed)"`,
		`call="Grant",peer="[^"]*b",reason="too_large"`, `call="Grant",peer="[^"]*anna",reason="role"`,
	} {
		eventually(t, n, `csmsql_rpc_refused_calls_by_peer_total\{`+kind+`\} 1`)
	}
	eventually(t, n, `csmsql_rpc_refused_calls_total\{reason="role"\} 1`)
	require.Regexp(t, `refused a call.* what=Grant.* reason=role .*anna`, n.stderr.String())
}

// The settings that init and join wrote are checked like flags.
func TestServeFile(t *testing.T) {
	directory := t.TempDir()
	for text, message := range map[string]string{
		`{"nod": "a"}`:          `"nod" is no flag`,
		`{"data": "/tmp"}`:      `"data" is no flag`,
		`{"threads": "many"}`:   `threads: `,
		`{"node": {"x": 1}}`:    `is no value of a flag`,
		`[]`:                    `is no JSON object`,
		`{"etcd-peer": "h:1"}`:  `are for nodes of a cluster`,
		`{"etcd-member": true}`: `are for nodes of a cluster`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(directory, "serve.json"), []byte(text), 0o600))
		_, errOut, code := run(t, "", "serve", "--data", directory)
		require.Equal(t, 2, code, text)
		require.Contains(t, errOut, message, text)
		require.Equal(t, 1, strings.Count(errOut, "csmsql: "))
	}
}
