package shell_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/conversation"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/shell"
)

func TestComplete(t *testing.T) {
	for text, want := range map[string]bool{
		"select 1;": true, "select 1": false, "select ';": false, "select ';';": true, `select ";"`: false, "select 1; -- done": true,
		"select 1; -- done\n": true, "-- only;": false, "select 1 /* ; */": false, "select 1 /* ; */ ;": true, "select 1; /* open": false,
		"select $$;$$": false, "select $$;$$;": true, "select $a$;$$;$a$;": true, "select $1;": true, "select $a$;": false,
		"select 1; select 2": false, "select 1;\n\n": true, "": false, ";": true, "select 'it''s';": true, "select 1 - 2;": true, "select 4 / 2;": true,
		"select 1; /* /* */ ;": false, "select E'\\';": false, "select E'\\';';": true, "select 1;\u00a0": true, "-- a\r;": true,
	} {
		require.Equal(t, want, shell.Complete(text), text)
	}
}

// FuzzComplete: whatever is typed, looking at it ends, and a semicolon after a closed statement completes it.
func FuzzComplete(f *testing.F) {
	for _, seed := range []string{"select '", "/*", "--", "$a$", `"`, "a;b", "$", "$$"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if shell.Complete(text) && !shell.Complete(text+"\n;") {
			t.Errorf("%q was complete, and with one more semicolon is not", text)
		}
	})
}

// scripted answers every statement with one row, and records what it was asked.
type scripted struct {
	asked []string
	fail  string
}

func (s *scripted) Run(_ context.Context, sql string, sink conversation.Sink) error {
	s.asked = append(s.asked, sql)
	if sql == s.fail {
		return &conversation.Failure{Severity: "ERROR", State: "22012", Message: "division by zero", At: 8}
	}
	if err := sink.Begin([]conversation.Column{{Name: "n", OID: 23}}); err != nil {
		return err
	}
	if err := sink.Row([][]byte{[]byte("7")}); err != nil {
		return err
	}
	return sink.End("SELECT 1")
}

func (s *scripted) Copy(_ context.Context, _ string, in io.Reader, _ io.Writer) (string, error) {
	text, err := io.ReadAll(in)
	s.asked = append(s.asked, "copied: "+string(text))
	return "COPY 1", err
}

func (s *scripted) Close() error { return nil }

func newShell(t *testing.T, talk conversation.Conversation, in string) (s *shell.Shell, out, errOut *bytes.Buffer) {
	t.Helper()
	out, errOut = &bytes.Buffer{}, &bytes.Buffer{}
	s, err := shell.New(talk, shell.Options{In: strings.NewReader(in), Out: out, Errors: errOut, Format: "csv"})
	require.NoError(t, err)
	return s, out, errOut
}

func TestScriptStopsAtFailure(t *testing.T) {
	talk := &scripted{fail: "select 1/0"}
	s, out, errOut := newShell(t, talk, "")
	err := s.Script(t.Context(), "select 7; select 1/0; select 8")
	require.ErrorIs(t, err, shell.ErrReported)
	require.Equal(t, []string{"select 7", "select 1/0"}, talk.asked)
	require.Equal(t, "n\n7\n", out.String())
	require.Equal(t, "ERROR:  division by zero\nLINE 1: select 1/0\n               ^\n", errOut.String())
}

func TestFileAndCopy(t *testing.T) {
	talk := &scripted{}
	s, out, _ := newShell(t, talk, "1\n2\n")
	path := filepath.Join(t.TempDir(), "x.sql")
	require.NoError(t, os.WriteFile(path, []byte("COPY t FROM STDIN;"), 0o600))
	require.NoError(t, s.File(t.Context(), path))
	require.Equal(t, []string{"copied: 1\n2\n"}, talk.asked)
	require.Equal(t, "COPY 1\n", out.String())
	require.ErrorIs(t, s.File(t.Context(), path+".missing"), os.ErrNotExist)
}

func TestDescribing(t *testing.T) {
	require.Equal(t, "DESCRIBE t", shell.Describing(`\d`, "t"))
	for _, command := range []string{`\d`, `\dt`, `\dv`, `\dn`} {
		require.Contains(t, shell.Describing(command, ""), "information_schema")
	}
	require.Empty(t, shell.Describing(`\zzz`, ""))
}

// brokenPipe takes nothing.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("broken pipe")

func TestWriteErrors(t *testing.T) {
	s, err := shell.New(&scripted{}, shell.Options{Out: brokenPipe{}, Errors: io.Discard, Format: "json"})
	require.NoError(t, err)
	require.ErrorIs(t, s.Script(t.Context(), "select 1"), errBroken)
}
