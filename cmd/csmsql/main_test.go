package main_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	csmsql "github.com/csmsql/csmsql/cmd/csmsql"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// asProgram makes this test binary behave as the program: so the tests need no second build of 130 MB.
const asProgram = "CSMSQL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		if err := obeyTrigger(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(csmsql.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if directory := os.Getenv(asEtcd); directory != "" {
		if err := serveEtcd(directory); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testsuite.SetFlags(4) // the long ones wait: for sessions to end, for leaders to be chosen
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "the shared node:", err)
		code = 1
	}
	os.Exit(code)
}

// TestCommandLine compares help texts and errors about the command line with testdata, so that each change of them is
// reviewed as text.
func TestCommandLine(t *testing.T) {
	t.Setenv("CSMSQL_DATA", "/home/you/.local/share/csmsql") // no such place: no node is found there
	datadriven.Walk(t, "testdata/commandline", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			require.Equal(t, "csmsql", d.Cmd)
			var out, errOut bytes.Buffer
			code := csmsql.Run(strings.Fields(d.Input), strings.NewReader(""), &out, &errOut)
			return strings.TrimRight(out.String()+errOut.String(), "\n") + fmt.Sprintf("\n[exit code %d]\n", code)
		})
	})
}
