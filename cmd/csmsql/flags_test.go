package main_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	csmsql "github.com/csmsql/csmsql/cmd/csmsql"
)

// promise is the evidence that a flag has its effect: a wrong value, or a combination that contradicts itself, is
// refused with an error that names it, before anything is touched; or a test uses it.
type promise struct {
	wrong string // arguments that must be refused: exit code 2
	says  string // in the error
	test  string // a test of this package that uses the flag
}

// promises of every flag of every command, as COMMAND --FLAG. {} is an empty directory.
var promises = map[string][]promise{
	"bench --json":         {{wrong: "bench --json=maybe steps", says: `"maybe" for "--json"`}},
	"bench --markdown":     {{wrong: "bench steps --markdown x.txt", says: "--markdown x.txt: the name of the file must end in .md"}},
	"bench --max-rows":     {{wrong: "bench steps --max-rows -1", says: "--max-rows -1"}, {wrong: "bench tpch --max-rows 5", says: "--max-rows is of attach, cluster, readers, egress, steps, thesis, growth, changes, and not of tpch"}},
	"bench --postgres-bin": {{wrong: "bench steps --postgres-bin /", says: "--postgres-bin is of egress, writes, changes, and not of steps"}},
	"bench --queries": {
		{wrong: "bench tpch --queries 23", says: "--queries 23: the queries are numbered 1 to 22"}, {wrong: "bench tpch --queries x", says: `"--queries" flag: that is no number`},
		{wrong: "bench attach steps --queries 1", says: "--queries is of tpch, refresh, cluster, workers, cancel, and not of attach, steps"},
	},
	"bench --runs":    {{wrong: "bench steps --runs 0", says: "--runs 0"}, {wrong: "bench --runs x", says: `"--runs" flag: that is no number`}},
	"bench --sf":      {{wrong: "bench attach --sf 1", says: "--sf is of tpch, refresh, changes, cluster, workers, cancel, and not of attach"}, {wrong: "bench tpch --sf 0", says: "--sf 0"}, {wrong: "bench tpch --sf nan", says: "--sf NaN"}},
	"bench --sizes":   {{wrong: "bench attach --sizes 0", says: "--sizes 0"}, {wrong: "bench tpch --sizes 1", says: "--sizes is of attach, thesis, and not of tpch"}},
	"bench --svg":     {{wrong: "bench nothing --svg x", says: `there is no benchmark "nothing"`}},
	"bench --threads": {{wrong: "bench steps --threads -1", says: "--threads -1"}},

	"chunk --certs": {{wrong: "chunk t --certs {}", says: "which chunk?"}},
	"chunk --to":    {{wrong: "chunk t -1 --to {}", says: "shorthand"}, {test: "TestChunk"}},

	"cluster cert --authority":  {{wrong: "cluster cert --node a --out {}/o", says: "--authority DIR"}, {test: "TestClusterCertificates"}},
	"cluster cert --client":     {{wrong: "cluster cert --authority {}/a --out {}/o --node a --client b", says: "--node NAME or --client NAME"}, {test: "TestClusterCertificates"}},
	"cluster cert --host":       {{wrong: "cluster cert --authority {}/a --out {}/o --client b --host h", says: "--host is for --node"}},
	"cluster cert --node":       {{wrong: "cluster cert --authority {}/a --out {}/o", says: "--node NAME or --client NAME"}},
	"cluster cert --out":        {{wrong: "cluster cert --authority {}/a --node a", says: "--out DIR"}, {test: "TestClusterCertificates"}},
	"cluster drain --certs":     {{wrong: "cluster drain --certs {}", says: "which node?"}},
	"cluster drain --to":        {{test: "TestClusterDrain"}},
	"cluster forget --certs":    {{wrong: "cluster forget --certs {}", says: "which node?"}},
	"cluster forget --to":       {{wrong: "cluster forget --to {}", says: "which node?"}},
	"cluster rebalance --certs": {{wrong: "cluster rebalance x --certs {}", says: "takes no arguments"}},
	"cluster rebalance --to":    {{test: "TestClusterRebalance"}},
	"cluster status --certs":    {{test: "TestClusterCertificates"}},
	"cluster status --json":     {{test: "TestClusterLosesItsMajority"}},
	"cluster status --to":       {{test: "TestClusterLosesItsMajority"}},
	"cluster undrain --certs":   {{wrong: "cluster undrain --certs {}", says: "which node?"}},
	"cluster undrain --to":      {{test: "TestClusterDrain"}},

	"load --append":    {{wrong: "load t f --append --replace", says: "--create, --append and --replace exclude each other"}, {test: "TestFlagsOfARunningNode"}},
	"load --certs":     {{wrong: "load t --certs {}", says: "at least one file"}},
	"load --create":    {{wrong: "load t f --create --append", says: "--create, --append and --replace exclude each other"}},
	"load --format":    {{wrong: "load t f --format xls", says: "--format xls: the formats are parquet, csv, arrow and json"}},
	"load --option":    {{wrong: "load t f --option header", says: `"--option" flag`}, {test: "TestFlagsOfARunningNode"}},
	"load --placement": {{test: "TestFlagsOfARunningNode"}},
	"load --replace":   {{wrong: "load t f --create --replace", says: "--create, --append and --replace exclude each other"}, {test: "TestFlagsOfARunningNode"}},
	"load --replicas":  {{wrong: "load t f --replicas 0", says: "--replicas 0"}, {wrong: "load t f --replicas -1", says: "--replicas -1"}},
	"load --to":        {{test: "TestLoad"}},

	"serve --certs":        {{wrong: "serve --certs {}", says: "--certs"}, {test: "TestClusterCertificates"}},
	"serve --cluster-init": {{wrong: "serve --cluster-init", says: "--node NAME"}, {wrong: "serve --cluster-init --etcd 127.0.0.1:1 --node a", says: "--cluster-init begins a cluster and --etcd joins one"}},
	"serve --data":         {{wrong: "serve --data=", says: `--data "": leave it out`}, {test: "TestServeKeepsTables"}},
	"serve --etcd":         {{wrong: "serve --node a --etcd nonsense", says: `--etcd "nonsense" is not an address`}, {wrong: "serve --etcd=", says: `--etcd "[]"`}},
	"serve --etcd-history": {{wrong: "serve --etcd-history 5m", says: "--etcd-history"}, {wrong: "serve --node a --cluster-init --etcd-history 1s", says: "say 1m0s or more"}},
	"serve --etcd-listen":  {{wrong: "serve --etcd-listen 127.0.0.1:1", says: "--etcd-listen"}, {wrong: "serve --node a --cluster-init --etcd-listen x", says: `--etcd-listen "x" is not an address`}},
	"serve --etcd-member":  {{wrong: "serve --etcd-member", says: "--etcd-member"}, {test: "TestClusterLosesItsMajority"}},
	"serve --etcd-peer":    {{wrong: "serve --etcd-peer 127.0.0.1:1", says: "--etcd-peer"}, {wrong: "serve --node a --cluster-init --etcd-peer x", says: `--etcd-peer "x" is not an address`}},
	"serve --etcd-quota":   {{wrong: "serve --etcd-quota 1GiB", says: "--etcd-quota"}, {wrong: "serve --node a --cluster-init --etcd-quota 1MiB", says: "etcd's database has at least 16 MiB"}, {test: "TestClusterLosesItsMajority"}},
	"serve --dialect":      {{wrong: "serve --dialect oracle", says: "Available values: duckdb, postgres"}, {test: "TestServeKeepsTables"}},
	"serve --fabric":       {{wrong: "serve --fabric tape", says: "--fabric tape"}, {wrong: "serve --fabric device:/dev/null --region-dir {}", says: "--region-dir"}},
	"serve --files":        {{wrong: "serve --files {}/none", says: "--files"}},
	"serve --http":         {{wrong: "serve --http 0.0.0.0:1", says: "--http: refusing to listen"}, {wrong: "serve --http=", says: `--http ""`}},
	"serve --log-level":    {{wrong: "serve --log-level loud", says: `"--log-level" flag: the levels are debug, info, warn and error`}},
	"serve --memory":       {{wrong: "serve --memory 1KiB", says: "--memory 1 KiB: queries have at least 8 MiB"}, {wrong: "serve --memory 0", says: `--memory "0 B"`}},
	"serve --node":         {{wrong: "serve --node=", says: `--node ""`}},
	"serve --pg":           {{wrong: "serve --pg 0.0.0.0:1", says: "--pg: refusing to listen"}, {test: "TestServePortTaken"}},
	"serve --prefault":     {{wrong: "serve --prefault=maybe", says: `"maybe" for "--prefault"`}},
	"serve --quota": {
		{wrong: "serve --quota t", says: "--quota t: say which table may hold how much"},
		{wrong: "serve --quota t=0", says: "--quota t=0: say"}, {wrong: "serve --quota =1GiB", says: "--quota =1GiB: say"},
		{wrong: "serve --quota t=1GiB --quota public.t=2GiB", says: "table public.t has a quota already"}, {test: "TestServeQuota"},
	},
	"serve --region":          {{wrong: "serve --region 1KiB", says: "--region 1 KiB: a region has at least 8 MiB"}, {wrong: "serve --region 0", says: `--region "0 B"`}, {test: "TestServeRegionTooLarge"}},
	"serve --region-dir":      {{wrong: "serve --region-dir {}/none", says: "--region-dir"}},
	"serve --repair-after":    {{wrong: "serve --repair-after 5s", says: "--repair-after are for nodes of a cluster"}, {wrong: "serve --repair-after -5s --cluster-init", says: "--repair-after -5s"}},
	"serve --rpc":             {{wrong: "serve --rpc 127.0.0.1:0", says: "--rpc"}, {wrong: "serve --node a --cluster-init --rpc x --certs {}", says: `--rpc "x" is not an address`}},
	"serve --session-ttl":     {{wrong: "serve --session-ttl 5s", says: "--session-ttl and"}, {wrong: "serve --cluster-init --session-ttl -5s", says: "--session-ttl -5s"}, {wrong: "serve --cluster-init --session-ttl 0", says: `--session-ttl "0s"`}},
	"serve --threads":         {{wrong: "serve --threads -1", says: "--threads -1"}},
	"serve --verify":          {{wrong: "serve --verify maybe", says: "--verify"}},
	"serve --workers":         {{wrong: "serve --workers -1", says: "--workers -1"}, {wrong: "serve --workers 1 --cluster-init --node a", says: "--workers is for a node that is alone"}, {test: "TestACrashCostsAQueryAndNotTheNode"}},
	"serve --verify-at-start": {{wrong: "serve --verify-at-start=maybe", says: `"maybe" for "--verify-at-start"`}, {test: "TestServeKeepsTables"}},

	"sql --attach":  {{test: "TestSQL"}},
	"sql --certs":   {{wrong: "sql what --certs {}", says: "takes no arguments"}},
	"sql --command": {{test: "TestFlagsOfARunningNode"}},
	"sql --file":    {{test: "TestFlagsOfARunningNode"}},
	"sql --format":  {{wrong: "sql --format xls", says: "--format xls: the formats are table, csv, tsv, json, jsonl"}, {test: "TestSQL"}},
	"sql --timing":  {{test: "TestFlagsOfARunningNode"}},
	"sql --to":      {{test: "TestSQL"}},

	"status --certs": {{wrong: "status what --certs {}", says: "takes no arguments"}},
	"status --json":  {{test: "TestStatus"}},
	"status --to":    {{test: "TestStatus"}},

	"tpch load --certs":     {{wrong: "tpch load --certs {}", says: "--sf"}},
	"tpch load --placement": {{wrong: "tpch load --placement rows", says: "--sf"}},
	"tpch load --replace":   {{test: "TestTPCH"}},
	"tpch load --replicas":  {{wrong: "tpch load --sf 1 --replicas 0", says: "--replicas 0"}},
	"tpch load --schema":    {{test: "TestTPCH"}},
	"tpch load --sf":        {{wrong: "tpch load --sf -1", says: "--sf -1"}, {wrong: "tpch load --sf nan", says: "--sf NaN"}, {test: "TestTPCH"}},
	"tpch load --to":        {{test: "TestTPCH"}},
	"tpch run --attach":     {{test: "TestTPCH"}},
	"tpch run --certs":      {{wrong: "tpch run --runs 0 --certs {}", says: "--runs 0"}},
	"tpch run --query":      {{wrong: "tpch run --query 23", says: "--query 23: the queries are numbered 1 to 22"}, {wrong: "tpch run --query x", says: `"--query" flag: that is no number`}},
	"tpch run --runs":       {{wrong: "tpch run --runs 0", says: "--runs 0"}},
	"tpch run --schema":     {{test: "TestTPCH"}},
	"tpch run --sf":         {{wrong: "tpch run --sf -1", says: "--sf -1"}},
	"tpch run --to":         {{test: "TestTPCH"}},

	"verify --certs": {{wrong: "verify --json=maybe --certs {}", says: `"maybe" for "--json"`}},
	"verify --json":  {{wrong: "verify --json=maybe", says: `"maybe" for "--json"`}, {test: "TestFlagsOfARunningNode"}},
	"verify --to":    {{test: "TestServeKeepsTables"}},
}

// TestEveryFlagIsKept: no flag without a promise, and none of the promises is empty. Flags that init and join write
// down keep serve's promises as well, because serve reads serve.json.
func TestEveryFlagIsKept(t *testing.T) {
	t.Setenv("CSMSQL_DATA", filepath.Join(t.TempDir(), "none"))
	uses := testsThatUse(t)
	seen := map[string]bool{}
	walk(csmsql.NewRoot(), func(c *cobra.Command) {
		name := strings.TrimPrefix(c.CommandPath(), "csmsql ")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			key := name + " --" + f.Name
			if f.Name == "help" || name == "csmsql" {
				return
			}
			seen[key] = true
			list, setup := promises[key], ""
			if name == "cluster init" || name == "cluster join" {
				if promises["serve --"+f.Name] == nil {
					list = setupPromises[f.Name]
				} else {
					list, setup = promises["serve --"+f.Name], name
				}
			}
			if len(list) == 0 {
				t.Errorf("%s has no promise: say how it is seen to have an effect, or to be refused", key)
			}
			for _, p := range list {
				p.hold(t, f, setup, uses)
			}
		})
	})
	for key := range promises {
		require.True(t, seen[key], "there is no flag %s", key)
	}
}

// setupPromises are of the flags that only init and join have.
var setupPromises = map[string][]promise{
	"authority": {{wrong: "cluster init --data {}/d --node a --authority {}/a --certs {}/c", says: "--authority makes the node's certificate and --certs has one"}},
	"host":      {{wrong: "cluster init --data {}/d --node a --host h", says: "--host is for the certificate that --authority makes"}},
	"to":        {{wrong: "cluster join --data {}/d --node a --to x --etcd 127.0.0.1:1", says: "--to DIR"}},
}

// hold tries a promise. setup is the command that writes serve's flags down instead.
func (p promise) hold(t *testing.T, f *pflag.Flag, setup string, uses map[string]string) {
	t.Helper()
	if p.test != "" {
		named := regexp.MustCompile(`--` + f.Name + `\b` + map[bool]string{true: `|"-` + f.Shorthand + `"`}[f.Shorthand != ""])
		if setup == "" && f.Name != "to" && !named.MatchString(uses[p.test]) { // node.csmsql adds --to
			t.Errorf("%s does not use --%s", p.test, f.Name)
		}
		require.Contains(t, uses, p.test)
		return
	}
	directory := t.TempDir()
	args := strings.Fields(strings.ReplaceAll(p.wrong, "{}", directory))
	if setup != "" { // as far as they are flags of both, and wrong for a node of a cluster, too
		if !strings.HasPrefix(p.wrong, "serve --"+f.Name) || strings.Contains(p.says, "for nodes of a cluster") || len(args) > 3 || f.Name == "node" || f.Name == "data" || strings.HasPrefix(f.Name, "etcd") || f.Name == "certs" || f.Name == "rpc" || f.Name == "session-ttl" {
			return
		}
		args = append(append(strings.Fields(setup), args[1:]...), "--data", filepath.Join(directory, "made"), "--node", "a")
		if setup == "cluster join" {
			args = append(args, "--etcd", "127.0.0.1:1")
		}
	}
	var out, errOut bytes.Buffer
	code := csmsql.Run(args, strings.NewReader(""), &out, &errOut)
	if code != 2 || !strings.Contains(errOut.String(), p.says) {
		t.Errorf("%v: exit code %d, %s%swant %q", args, code, out.String(), errOut.String(), p.says)
	}
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, entries, "%v has made something", args)
}

func walk(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, below := range c.Commands() {
		if !below.Hidden && below.Name() != "help" {
			walk(below, visit)
		}
	}
}

// testsThatUse are the texts of this package's tests, by their names, with what the functions that they call say.
func testsThatUse(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		tree, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		require.NoError(t, err)
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				texts[f.Name.Name] = string(text[f.Pos()-tree.FileStart : f.End()-tree.FileStart])
			}
		}
	}
	whole := map[string]string{}
	for name := range texts {
		if strings.HasPrefix(name, "Test") {
			whole[name] = withCalled(texts, name, map[string]bool{})
		}
	}
	return whole
}

// withCalled is a function's text with those of the functions that it calls.
func withCalled(texts map[string]string, name string, seen map[string]bool) string {
	seen[name] = true
	text := texts[name]
	for called := range texts {
		if !seen[called] && strings.Contains(texts[name], called+"(") {
			text += withCalled(texts, called, seen)
		}
	}
	return text
}

// TestFlagsOfARunningNode: what flags do to a node, and what of them a node refuses.
func TestFlagsOfARunningNode(t *testing.T) {
	n := shared.get(t)
	file := filepath.Join(t.TempDir(), "f.csv")
	require.NoError(t, os.WriteFile(file, []byte("a|b\n1|x\n"), 0o600))
	script := filepath.Join(t.TempDir(), "f.sql")
	require.NoError(t, os.WriteFile(script, []byte("SELECT count(*) AS n FROM flags_t;"), 0o600))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"load", "flags_t", file, "--create", "--option", "delimiter=|"}, 0, "1 row"},
		{[]string{"load", "flags_t", file, "--create"}, 1, "already exists"},
		{[]string{"load", "flags_t", file, "--append", "--option", "delimiter=|", "--option", "header=true"}, 0, "1 row"},
		{[]string{"sql", "--file", script, "--format", "csv"}, 0, "n\n2\n"},
		{[]string{"load", "flags_t", file, "--replace", "--option", "delimiter=|", "--format", "csv"}, 0, "1 row"},
		{[]string{"sql", "--file", script, "--format", "jsonl"}, 0, `{"n":1}`},
		{[]string{"sql", "--command", "SELECT 1", "--timing"}, 0, "Time: "},
		{[]string{"load", "flags_u", file, "--option", "delimiter="}, 1, `option "delimiter" is empty`},
		{[]string{"load", "flags_u", file, "--option", "header=maybe"}, 1, "header requires a Boolean value"},
		{[]string{"load", "flags_u", file, "--option", "headr=true"}, 1, `Did you mean "header"?`},
		{[]string{"load", "flags_u", file, "--format", "arrow", "--option", "header=true"}, 1, `option "header" is for CSV files`},
		{[]string{"load", "flags_u", file, "--placement", "rows"}, 1, "this node is alone"},
		{[]string{"load", "flags_u", file, "--replicas", "2"}, 1, "this node is alone"},
		{[]string{"tpch", "load", "--sf", "0.01", "--placement", "nowhere"}, 1, `placement "nowhere"`},
		{[]string{"verify", "flags_t", "--json"}, 0, `"damaged"`},
	} {
		out, errOut, code := n.csmsql(t, "", c.args...)
		require.Equal(t, c.code, code, "%v: %s%s", c.args, out, errOut)
		require.Contains(t, out+errOut, c.says, "%v", c.args)
	}
}
