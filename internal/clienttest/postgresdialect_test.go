package clienttest

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// reply is what a statement gives: rows, or the SQLSTATE of an error.
type reply struct {
	state, message, tag string
	names, types, rows  []string
}

// difference names the first difference between PostgreSQL's answer and ours that a client would notice. Of different
// types it names both, PostgreSQL's and ours. Empty: none.
func (a reply) difference(ours reply) string {
	switch {
	case a.state != ours.state && ours.state != "" && a.state != "":
		return "sqlstate"
	case a.state != ours.state && ours.state != "":
		return "refused"
	case a.state != ours.state:
		return "accepted"
	case !slices.Equal(a.rows, ours.rows):
		return "value"
	case a.tag != ours.tag:
		return "tag"
	case !slices.Equal(a.names, ours.names):
		return "name"
	}
	var pairs []string
	for i := range a.types {
		if pair := a.types[i] + ">" + ours.types[i]; a.types[i] != ours.types[i] && !slices.Contains(pairs, pair) {
			pairs = append(pairs, pair)
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}

func (a reply) String() string {
	if a.state != "" {
		return a.state + ": " + a.message
	}
	return fmt.Sprintf("%s %q %q %q", a.tag, a.names, a.types, a.rows)
}

// exception is a difference that is known: of its kind, in the statements that match.
type exception struct {
	kind, reason string
	statements   *regexp.Regexp
	used         bool
}

// readExceptions reads testdata/postgres/exceptions.txt.
func readExceptions(t *testing.T) (list []*exception) {
	t.Helper()
	data, err := os.ReadFile("testdata/postgres/exceptions.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, "\t", 3)
		require.Len(t, parts, 3, line)
		list = append(list, &exception{kind: parts[0], reason: parts[1], statements: regexp.MustCompile(parts[2])})
	}
	return list
}

var alternatives = regexp.MustCompile(`«([^»]*)»`)

// expand gives the statements that a line of testdata/postgres/statements.txt stands for.
func expand(line string) (list []string) {
	at := alternatives.FindStringSubmatchIndex(line)
	if at == nil {
		return []string{line}
	}
	for by := range strings.SplitSeq(line[at[2]:at[3]], ";") {
		list = append(list, expand(line[:at[0]]+by+line[at[1]:])...)
	}
	return list
}

// side is one of the two that are asked.
type side struct {
	dsn   string
	setup []string
	conn  *pgconn.PgConn
}

// begin makes the tables again, in a new session.
func (s *side) begin(t *testing.T) {
	t.Helper()
	s.end(t)
	var err error
	s.conn, err = pgconn.Connect(t.Context(), s.dsn)
	require.NoError(t, err)
	room := []string{"DROP SCHEMA IF EXISTS asked CASCADE", "CREATE SCHEMA asked", "SET search_path = asked"}
	for _, sql := range append(room, s.setup...) {
		got := s.ask(t, sql)
		require.Empty(t, got.state, "%s: %s", sql, got)
	}
}

func (s *side) end(t *testing.T) {
	if s.conn != nil {
		require.NoError(t, s.conn.Close(t.Context()))
		s.conn = nil
	}
}

// ask sends statements one after the other, and gives the last answer, or the first error.
func (s *side) ask(t *testing.T, sql string) (a reply) {
	t.Helper()
	for _, one := range split(sql) {
		results := s.conn.Exec(t.Context(), one)
		for results.NextResult() {
			reader := results.ResultReader()
			a = reply{}
			for _, f := range reader.FieldDescriptions() {
				a.names, a.types = append(a.names, f.Name), append(a.types, fmt.Sprint(f.DataTypeOID))
			}
			for reader.NextRow() {
				var values []string
				for _, v := range reader.Values() {
					text := "NULL"
					if v != nil {
						text = string(v)
					}
					values = append(values, text)
				}
				a.rows = append(a.rows, strings.Join(values, "|"))
			}
			tag, _ := reader.Close() // the error comes again
			a.tag = tag.String()
		}
		if err := results.Close(); err != nil {
			var said *pgconn.PgError
			require.True(t, errors.As(err, &said), "%s: %v", one, err)
			return reply{state: said.Code, message: said.Message}
		}
	}
	if !orderBy.MatchString(sql) {
		slices.Sort(a.rows)
	}
	return a
}

// TestPostgresDialect asks PostgreSQL 15, and csmsql in its dialect, the same statements: values, types, names, tags and
// SQLSTATEs are the same, or testdata/postgres/exceptions.txt says why they are not. Every exception is one.
func TestPostgresDialect(t *testing.T) {
	theirs := &side{dsn: startPostgres(t)}
	ours := &side{dsn: shared.dsn() + " options='-c csm.dialect=postgres'"}
	data, err := os.ReadFile("testdata/postgres/statements.txt")
	require.NoError(t, err)
	exceptions := readExceptions(t)
	family, asked, same, fresh := "", 0, 0, false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "# "); ok {
			family = name
		}
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case family == "setup":
			theirs.setup, ours.setup = append(theirs.setup, line), append(ours.setup, line)
			continue
		}
		for _, sql := range expand(line) {
			if !fresh {
				theirs.begin(t)
				ours.begin(t)
			}
			want, got := theirs.ask(t, sql), ours.ask(t, sql)
			fresh = !leavesSomething(sql, want.state != "" && got.state != "")
			asked++
			kind := want.difference(got)
			if kind == "" {
				same++
				continue
			}
			at := slices.IndexFunc(exceptions, func(e *exception) bool {
				return e.kind == kind && e.statements.MatchString(sql)
			})
			if at < 0 {
				t.Errorf("%s\t%s\n\tPostgreSQL %s\n\tcsmsql     %s", kind, sql, want, got)
				continue
			}
			exceptions[at].used = true
		}
	}
	require.Equal(t, "DROP SCHEMA", ours.ask(t, "DROP SCHEMA asked CASCADE").tag) // other tests list what is there
	theirs.end(t)
	ours.end(t)
	for _, e := range exceptions {
		if !e.used {
			t.Errorf("testdata/postgres/exceptions.txt: nothing differs so any more: %s %s", e.kind, e.statements)
		}
	}
	t.Logf("%d statements, %d the same, the others explained", asked, same)
	require.Greater(t, asked, 800)
}
