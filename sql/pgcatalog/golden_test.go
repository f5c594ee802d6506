package pgcatalog_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// The files in testdata hold what clients really send, recorded from them while they talked to PostgreSQL 15, and what we
// answer for the objects of sample.sql.
//
//	query            the rows, a header first
//	query head=N     the first N rows and how many there are
//	query sort       the rows in order, where the client leaves it open
//	query differs    PostgreSQL's answer is another one; the comment above says why
//
// Lines like "$1 = text" before the query are its parameters.
func TestClients(t *testing.T) {
	c := open(t)
	for _, path := range clientFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				sql, args := parameters(d.Input)
				out, err := ask(c, sql, args...)
				if err != nil {
					return "ERROR: " + firstLine(err.Error()) + "\n"
				}
				return head(d, out)
			})
		})
	}
}

func clientFiles(t testing.TB) []string {
	paths, err := filepath.Glob("testdata/clients/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

// parameters takes the parameters from the top of a query.
func parameters(input string) (sql string, args []any) {
	for strings.HasPrefix(input, "$") {
		line, rest, _ := strings.Cut(input, "\n")
		_, value, _ := strings.Cut(line, " = ")
		if value == "NULL" {
			args = append(args, nil)
		} else {
			args = append(args, value)
		}
		input = rest
	}
	return input, args
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func head(d *datadriven.TestData, out string) string {
	if first, rest, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "\n"); d.HasArg("sort") && rest != "" {
		rows := strings.Split(rest, "\n")
		slices.Sort(rows)
		out = first + "\n" + strings.Join(rows, "\n") + "\n"
	}
	if !d.HasArg("head") {
		return out
	}
	var n int
	for _, a := range d.CmdArgs {
		if a.Key == "head" {
			fmt.Sscan(a.Vals[0], &n)
		}
	}
	lines := strings.SplitAfter(out, "\n")
	rows := len(lines) - 2
	if rows > n {
		lines = lines[:n+1]
	}
	return strings.Join(lines, "") + fmt.Sprintf("(%d rows)\n", rows)
}

// TestAgainstPostgreSQL asks a real server the same questions. CSMSQL_POSTGRES is its connection string: a fresh cluster of
// PostgreSQL 15 whose first database was made by testdata/sample.sql, so that object IDs agree.
func TestAgainstPostgreSQL(t *testing.T) {
	address := os.Getenv("CSMSQL_POSTGRES")
	if address == "" {
		t.Skip("CSMSQL_POSTGRES does not name a PostgreSQL 15 with testdata/sample.sql to compare with")
	}
	server, err := pgconn.Connect(t.Context(), address)
	require.NoError(t, err)
	defer server.Close(context.Background())
	for _, path := range clientFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			datadriven.Walk(t, path, func(t *testing.T, path string) {
				datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
					if d.HasArg("differs") {
						return d.Expected
					}
					return head(d, askServer(t, server, d.Input))
				})
			})
		})
	}
}

// askServer runs a query as ask does.
func askServer(t *testing.T, server *pgconn.PgConn, input string) string {
	sql, args := parameters(input)
	values := make([][]byte, len(args))
	for i, a := range args {
		if a != nil {
			values[i] = []byte(a.(string))
		}
	}
	reader := server.ExecParams(t.Context(), sql, values, nil, nil, nil)
	var b strings.Builder
	for i, f := range reader.FieldDescriptions() {
		if i > 0 {
			b.WriteString("|")
		}
		b.WriteString(f.Name)
	}
	b.WriteString("\n")
	for reader.NextRow() {
		for i, v := range reader.Values() {
			if i > 0 {
				b.WriteString("|")
			}
			b.WriteString(strings.ReplaceAll(string(v), "\n", `\n`))
		}
		b.WriteString("\n")
	}
	if _, err := reader.Close(); err != nil {
		return "ERROR: " + err.Error() + "\n"
	}
	return b.String()
}
