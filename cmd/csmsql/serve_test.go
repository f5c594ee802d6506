package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/cluster/noderpc"
)

// TestServeKeepsTables: the node ends at SIGTERM within seconds, though clients are connected and do all that they can, and
// comes back with its tables.
func TestServeKeepsTables(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--http", "127.0.0.1:0", "--dialect", "postgres")
	conn := n.connect(t)
	ctx := deadline(t)
	var whole string
	require.NoError(t, conn.QueryRow(ctx, "SELECT (7 / 2)::text").Scan(&whole))
	require.Equal(t, "3", whole)
	_, err := conn.Exec(ctx, "CREATE TABLE kept AS SELECT range AS i FROM range(100000)")
	require.NoError(t, err)
	busy := n.connect(t)
	failed := make(chan error, 1)
	go func() {
		_, err := busy.Exec(ctx, endless)
		failed <- err
	}()
	waitForStatement(t, n)
	others := keepBusy(t, n)

	begin := time.Now()
	require.NoError(t, n.signal(syscall.SIGTERM))
	require.Less(t, time.Since(begin), 10*time.Second)
	require.Error(t, <-failed)
	for range cap(others) {
		require.Error(t, <-others)
	}
	require.Contains(t, n.stderr.String(), "msg=stopped")
	require.NotContains(t, n.stderr.String(), "panic")
	left, err := filepath.Glob(filepath.Join(n.data, "*.sock"))
	require.NoError(t, err)
	require.Empty(t, left, "sockets must go with the node")

	require.NoError(t, n.launch(append(n.command.Args[1:], "--verify-at-start", "--verify", "always")))
	var sum int64
	require.NoError(t, n.connect(t).QueryRow(ctx, "SELECT sum(i)::bigint FROM kept").Scan(&sum))
	require.EqualValues(t, 100000*99999/2, sum)
}

// keepBusy starts clients of every kind; each sends an error when the node has failed it.
func keepBusy(t *testing.T, n *node) (failed chan error) {
	t.Helper()
	ctx := deadline(t)
	work := map[string]func() error{
		"read rows": func() error {
			rows, err := n.connect(t).Query(ctx, "SELECT a.i, b.i FROM kept a, kept b")
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
			}
			return rows.Err()
		},
		"copy in": func() error {
			if _, err := n.connect(t).Exec(ctx, "CREATE TABLE copied (i int)"); err != nil {
				return err
			}
			reader, writer := io.Pipe()
			defer writer.Close()
			go func() {
				for {
					if _, err := io.WriteString(writer, "7\n"); err != nil {
						return
					}
				}
			}()
			_, err := n.connect(t).PgConn().CopyFrom(ctx, reader, "COPY copied FROM STDIN")
			reader.CloseWithError(io.ErrClosedPipe)
			return err
		},
		"load": func() error {
			_, errOut, _ := n.csmsql(t, "", "tpch", "load", "--sf", "1")
			return errors.New(errOut)
		},
		"attach": func() error {
			for {
				_, errOut, code := n.csmsql(t, "", "sql", "--attach", "-c", "SELECT count(*) FROM kept a, (FROM kept LIMIT 5000) b WHERE a.i * b.i = -1")
				if code != 0 {
					return errors.New(errOut)
				}
			}
		},
		"scrape": func() error {
			address := regexp.MustCompile(`http://(\S+)/metrics`).FindStringSubmatch(n.banner)[1]
			for {
				for _, path := range []string{"/metrics", "/healthz"} {
					response, err := http.Get("http://" + address + path)
					if err != nil {
						return err
					}
					io.Copy(io.Discard, response.Body)
					response.Body.Close()
				}
			}
		},
	}
	failed = make(chan error, len(work))
	for name, do := range work {
		go func() { failed <- fmt.Errorf("%s: %w", name, do()) }()
	}
	require.Eventually(t, func() bool { // the load and the borrower hold snapshots, too
		out, _, _ := n.csmsql(t, "", "status", "--json")
		return strings.Count(out, `"borrower-`) > 0 && strings.Count(out, "tpch load") > 0
	}, patience, 10*time.Millisecond)
	return failed
}

// TestServeSurvivesKill: kill -9 in the middle of statements costs nothing that was committed, and the next node is not put
// off by what the first one left lying about.
func TestServeSurvivesKill(t *testing.T) {
	n := startNode(t)
	ctx := deadline(t)
	_, err := n.connect(t).Exec(ctx, "CREATE TABLE survivor AS SELECT range AS i FROM range(500000)")
	require.NoError(t, err)
	writer := n.connect(t)
	failed := make(chan error, 1)
	go func() {
		for {
			if _, err := writer.Exec(ctx, "CREATE OR REPLACE TABLE unlucky AS SELECT range AS i FROM range(500000)"); err != nil {
				failed <- err
				return
			}
		}
	}()
	waitForStatement(t, n)
	require.Error(t, n.signal(syscall.SIGKILL))
	require.Error(t, <-failed)

	require.NoError(t, n.launch(n.command.Args[1:]))
	var count int64
	require.NoError(t, n.connect(t).QueryRow(ctx, "SELECT count(*) FROM survivor WHERE i % 2 = 0").Scan(&count))
	require.EqualValues(t, 250000, count)
}

// TestServeWithoutItsRegion: a node whose region was lost in a reboot, or removed by a user, starts, reports the loss
// wherever it is asked, and lends a new one.
func TestServeWithoutItsRegion(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	ctx := deadline(t)
	_, err := n.connect(t).Exec(ctx, "CREATE TABLE lost AS SELECT 1 AS i")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "f.csv")
	require.NoError(t, os.WriteFile(file, []byte("a,b\n1,x\n2,\n"), 0o600))
	_, errors, code := n.csmsql(t, "", "load", "loaded", file)
	require.Zero(t, code, errors)
	status := func() (s noderpc.Status) {
		out, errors, code := n.csmsql(t, "", "status", "--json")
		require.Zero(t, code, errors)
		require.NoError(t, json.Unmarshal([]byte(out), &s))
		return s
	}
	path := status().Regions[0].Path
	require.Error(t, n.signal(syscall.SIGKILL))
	require.NoError(t, os.Remove(path))

	require.NoError(t, n.launch(n.command.Args[1:]))
	regions := status().Regions
	require.Len(t, regions, 2)
	require.Empty(t, regions[0].Gone)
	require.Equal(t, path, regions[1].Path)
	require.Contains(t, regions[1].Gone, "does not exist")
	out, _, _ := n.csmsql(t, "", "status")
	require.Contains(t, out, "IS GONE")
	require.Regexp(t, `(?m)^public\.loaded +1 +1 +`+regexp.QuoteMeta(file)+`$`, out)
	out, _, code = n.csmsql(t, "", "verify", "lost")
	require.Equal(t, 1, code)
	require.Regexp(t, `public\.lost +0 +0 to 0 +local +none is whole +.*does not exist`, out)
	c := n.connect(t)
	_, err = c.Exec(ctx, "SELECT * FROM lost")
	require.ErrorContains(t, err, "lost")
	_, err = c.Exec(ctx, "ALTER TABLE loaded RELOAD")
	require.NoError(t, err)
	var sum int
	require.NoError(t, c.QueryRow(ctx, "SELECT sum(a) FROM loaded").Scan(&sum))
	require.Equal(t, 3, sum)
	out, _, _ = n.csmsql(t, "", "status")
	require.NotRegexp(t, `public\.loaded +1 +1`, out)
	_, err = c.Exec(ctx, "CREATE TABLE more AS SELECT 1 AS i")
	require.NoError(t, err)
	out, errors, code = n.csmsql(t, "", "verify", "public.more")
	require.Zero(t, code, errors)
	require.Contains(t, out, "All are whole.")
}

// endless runs until it is cancelled.
const endless = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range = -1"

// waitForStatement returns when another session's statement holds its snapshot.
func waitForStatement(t *testing.T, n *node) {
	t.Helper()
	require.Eventually(t, func() bool {
		out, _, code := n.csmsql(t, "", "status", "--json")
		var status struct{ Leases []any }
		require.Zero(t, code)
		require.NoError(t, json.Unmarshal([]byte(out), &status))
		return len(status.Leases) > 0
	}, patience, 10*time.Millisecond)
}

// TestServeTwice: a second node on the same data directory is refused, and the first goes on.
func TestServeTwice(t *testing.T) {
	n := shared.get(t)
	_, errOut, code := run(t, "", "serve", "--data", n.data, "--pg", "127.0.0.1:0")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "another node serves there")
	require.Contains(t, errOut, "another data directory")
	require.NoError(t, n.connect(t).Ping(deadline(t)))
}

// TestServePortTaken: the error says what to do, and no region is left behind.
func TestServePortTaken(t *testing.T) {
	n := shared.get(t)
	directory, region, fabric, err := workspace()
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(directory); os.RemoveAll(region) })
	_, errOut, code := run(t, "", "serve", "--data", filepath.Join(directory, "d"), "--region-dir", region, "--fabric", fabric, "--pg", n.frontend.Address)
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "something else listens on "+n.frontend.Address)
	files, err := filepath.Glob(filepath.Join(region, "*.region"))
	require.NoError(t, err)
	require.Empty(t, files)
}

// TestServeRegionTooLarge: a region larger than its file system is refused before anything is made.
func TestServeRegionTooLarge(t *testing.T) {
	directory, region, fabric, err := workspace()
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(directory); os.RemoveAll(region) })
	_, errOut, code := run(t, "", "serve", "--data", filepath.Join(directory, "d"), "--region-dir", region, "--fabric", fabric, "--pg", "off", "--region", "900T")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "csmsql: ")
	files, err := filepath.Glob(filepath.Join(region, "*.region"))
	require.NoError(t, err)
	require.Empty(t, files)
}

// TestServeQuota: a table has so much of the region as it may have, and the error says how it gets more.
func TestServeQuota(t *testing.T) {
	c := startNode(t, "--quota", "few=1MiB", "--quota", "other.few=8KiB").connect(t)
	_, err := c.Exec(deadline(t), "CREATE TABLE few AS SELECT hash(i) AS a FROM range(100000) r(i)")
	require.NoError(t, err)
	_, err = c.Exec(deadline(t), "INSERT INTO few FROM few")
	var e *pgconn.PgError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "53200", e.Code)
	require.Contains(t, e.Message, `"public.few": quota`)
	require.Contains(t, e.Hint, "--quota")
	_, err = c.Exec(deadline(t), "CREATE SCHEMA other; CREATE TABLE other.few AS FROM few")
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Message, `"other.few": quota`)
}

// TestServePermissions (R1): the sockets are their owner's alone.
func TestServePermissions(t *testing.T) {
	n := shared.get(t)
	info, err := os.Stat(n.data)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	for _, name := range []string{"csmsql.sock", ".s.PGSQL.5432"} {
		info, err := os.Stat(filepath.Join(n.data, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
}

// TestServeMetrics reads /metrics and /healthz as a monitor would.
func TestServeMetrics(t *testing.T) {
	n := shared.get(t)
	_, err := n.connect(t).Exec(deadline(t), "CREATE TABLE IF NOT EXISTS measured AS SELECT 1 AS a")
	require.NoError(t, err)
	match := regexp.MustCompile(`http://(\S+)/metrics`).FindStringSubmatch(n.banner)
	require.NotNil(t, match)
	body := get(t, "http://"+match[1]+"/metrics")
	for _, line := range []string{
		`csmsql_table_rows{schema="public",table="measured"} 1`, `csmsql_node_info{`, `csmsql_region_capacity_bytes{`,
		`csmsql_statements_total `, `csmsql_coherence_total{`, `csmsql_sessions `,
		`csmsql_client_memory_bytes `, `csmsql_client_memory_limit_bytes `, `csmsql_client_memory_refused_total `,
		`csmsql_row_claims `, `csmsql_row_waits `,
	} {
		require.Contains(t, body, line)
	}
	require.Equal(t, "ok\n", get(t, "http://"+match[1]+"/healthz"))
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(deadline(t), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(body))
	return string(body)
}

// TestServeAbandoned: the region of a data directory that was removed is reported at the start and by status, and never
// touched.
func TestServeAbandoned(t *testing.T) {
	n := startNode(t)
	require.Error(t, n.signal(syscall.SIGKILL))
	require.NotContains(t, n.stderr.String(), "are gone")
	regions, err := filepath.Glob(filepath.Join(n.region, "*.region"))
	require.NoError(t, err)
	require.Len(t, regions, 1)
	if _, err := unix.Lgetxattr(regions[0], "user.csmsql.directory", make([]byte, unix.PathMax)); err != nil {
		t.Skipf("this system keeps no attributes of such files: %v", err)
	}
	require.NoError(t, os.RemoveAll(n.data))
	require.NoError(t, n.launch(n.command.Args[1:]))
	out, errOut, code := n.csmsql(t, "", "status")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "ABANDONED REGION")
	require.Regexp(t, "(?m)^  rm "+regexp.QuoteMeta(regions[0])+"( "+regexp.QuoteMeta(regions[0])+`\.\S+)*$`, out, "with its caches, where they are emulated")
	out, errOut, code = n.csmsql(t, "", "status", "--json")
	require.Zero(t, code, errOut)
	var status struct {
		Abandoned []struct {
			Path, Directory string
			Bytes           int64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &status))
	require.Len(t, status.Abandoned, 1)
	require.Equal(t, regions[0], status.Abandoned[0].Path)
	require.Equal(t, n.data, status.Abandoned[0].Directory)
	require.NoError(t, os.Remove(regions[0]))
	out, _, _ = n.csmsql(t, "", "status")
	require.NotContains(t, out, "ABANDONED")
	require.NoError(t, n.signal(syscall.SIGTERM))
	require.Contains(t, n.stderr.String(), "rm "+regions[0])
}

// The first client that calls one of PostgreSQL's functions waits for none to be made: the node has attached them by
// itself (decision 0056).
func TestFunctionsAreThereBeforeTheyAreCalled(t *testing.T) {
	n := startNode(t)
	files := fmt.Sprintf("/proc/%d/fd", n.command.Process.Pid)
	require.Eventually(t, func() bool {
		entries, err := os.ReadDir(files)
		require.NoError(t, err)
		return slices.ContainsFunc(entries, func(f os.DirEntry) bool {
			to, _ := os.Readlink(filepath.Join(files, f.Name())) // it may be closed already
			return strings.HasPrefix(to, "/memfd:csm_functions ")
		})
	}, patience, 10*time.Millisecond)
}
