package clienttest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unavailable ends a test whose client is not there (CL1).
func unavailable(t *testing.T, client, install string) {
	t.Helper()
	if os.Getenv("CSMSQL_CLIENTS") == "required" {
		t.Fatalf("%s is not there although CSMSQL_CLIENTS=required; install %s", client, install)
	}
	t.Skipf("%s is not there: its tests are skipped; install %s", client, install)
}

// tool finds a program by name, also where Debian keeps those of PostgreSQL's server.
func tool(t *testing.T, name, install string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is good
	if len(found) == 0 {
		unavailable(t, name, install)
	}
	slices.Sort(found)
	return found[len(found)-1]
}

// run runs a client to its end.
func run(t *testing.T, in string, path string, args ...string) (out, errOut string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, path, args...)
	c.Env = append(os.Environ(), "PGOPTIONS=", "PGCLIENTENCODING=UTF8", "PGTZ=UTC", "TZ=UTC", "LC_ALL=C.UTF-8", "PYTHONUTF8=1", "PGSYSCONFDIR=/nonexistent", "PSQLRC=/nonexistent")
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(in), &stdout, &stderr
	err = c.Run()
	return stdout.String(), stderr.String(), err
}

// checks runs a program of testdata and makes a subtest of every line it prints.
func checks(t *testing.T, path string, args ...string) {
	t.Helper()
	out, errOut, err := run(t, "", path, args...)
	require.NoError(t, err, "%s\n%s", out, errOut)
	var announced []string
	for line := range strings.Lines(out) {
		verdict, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		name, wrong, _ := strings.Cut(rest, "\t")
		switch verdict {
		case "checks":
			announced = strings.Fields(rest)
		case "ok", "fail":
			require.Contains(t, announced, name, "not announced, or twice")
			announced = slices.DeleteFunc(announced, func(s string) bool { return s == name })
			t.Run(name, func(t *testing.T) {
				if verdict == "fail" {
					t.Error(strings.ReplaceAll(wrong, " | ", "\n"))
				}
			})
		default:
			t.Errorf("unexpected line: %s", line)
		}
	}
	require.NotEmpty(t, out)
	require.Empty(t, announced, "checks that said nothing (T3); standard error: %s", errOut)
}

// python finds a Python that has a module: the one on the path may not be the one that packages are installed for.
func python(t *testing.T, module, install string) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if path, err := exec.LookPath(name); err == nil {
			if _, _, err := run(t, "", path, "-c", "import "+module); err == nil {
				return path
			}
		}
	}
	unavailable(t, module, install)
	return ""
}

func TestPsycopg(t *testing.T) {
	checks(t, python(t, "psycopg", "python3-psycopg"), "testdata/ordinary_psycopg.py", shared.dsn())
}

func TestPsycopg2(t *testing.T) {
	checks(t, python(t, "psycopg2", "python3-psycopg2"), "testdata/ordinary_psycopg2.py", shared.dsn())
}

func TestAsyncpg(t *testing.T) {
	checks(t, python(t, "asyncpg", "python3-asyncpg"), "testdata/ordinary_asyncpg.py", "127.0.0.1", shared.listens())
}

func TestSQLAlchemy(t *testing.T) {
	python := python(t, "sqlalchemy, psycopg2", "python3-sqlalchemy")
	checks(t, python, "-W", "ignore", "testdata/ordinary_sqlalchemy.py", "postgresql+psycopg2://postgres@127.0.0.1:"+shared.listens()+"/csmsql")
}

func TestJDBC(t *testing.T) {
	const driver = "/usr/share/java/postgresql.jar" // where Debian puts it
	if _, err := os.Stat(driver); err != nil {
		unavailable(t, "pgJDBC", "libpostgresql-jdbc-java")
	}
	compiler, classes := tool(t, "javac", "default-jdk-headless"), t.TempDir()
	out, errOut, err := run(t, "", compiler, "-encoding", "UTF-8", "-cp", driver, "-d", classes, "testdata/OrdinaryJDBC.java")
	require.NoError(t, err, "%s%s", out, errOut)
	checks(t, tool(t, "java", "default-jdk-headless"), "-Xmx64m", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-Duser.timezone=UTC",
		"-cp", driver+string(os.PathListSeparator)+classes, "OrdinaryJDBC", "jdbc:postgresql://127.0.0.1:"+shared.listens()+"/csmsql?user=postgres&sslmode=disable")
}

// TestNode needs npm for its driver, so it is skipped wherever there is none (CL1 is about what .ci/install can install).
func TestNode(t *testing.T) {
	path, err := exec.LookPath("node")
	if err == nil {
		_, err = exec.LookPath("npm")
	}
	if err != nil {
		t.Skip("node or npm is not there: the tests of node's pg are skipped")
	}
	if _, _, err := run(t, "", path, "-e", `require("pg")`); err != nil {
		unavailable(t, "node's pg", "it with npm install pg and point NODE_PATH at node_modules")
	}
	checks(t, path, "testdata/ordinary_pg.js", shared.url())
}
