package present_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/conversation"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/present"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// TestPresent compares results and errors with testdata. A result's input has a line of name:type, then one line per row; values are
// Go-quoted or bare, NULL is NULL.
func TestPresent(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out bytes.Buffer
			if d.Cmd == "failure" {
				f := &conversation.Failure{Message: "it failed"}
				d.MaybeScanArgs(t, "at", &f.At)
				d.MaybeScanArgs(t, "hint", &f.HintText)
				d.MaybeScanArgs(t, "detail", &f.DetailText)
				present.Failure(&out, d.Input, fmt.Errorf("wrapped: %w", f))
				return out.String()
			}
			writer := bufio.NewWriter(&out)
			sink, err := present.New(d.Cmd, writer)
			require.NoError(t, err)
			feed(t, sink, d.Input)
			require.NoError(t, writer.Flush())
			if d.Cmd == "json" {
				require.True(t, json.Valid(out.Bytes()) || d.Input == "", out.String())
			}
			return strings.ReplaceAll(out.String(), " \n", " ·\n") // trailing spaces can be seen
		})
	})
}

func feed(t *testing.T, sink conversation.Sink, input string) {
	lines := strings.Split(input, "\n")
	if input != "" {
		var columns []conversation.Column
		for _, word := range strings.Fields(lines[0]) {
			name, kind, _ := strings.Cut(word, ":")
			oid := map[string]uint32{"int": pgformat.Int4, "float": pgformat.Float8, "bool": pgformat.Bool, "json": pgformat.JSON, "text": pgformat.Text}[kind]
			require.NotZero(t, oid, word)
			columns = append(columns, conversation.Column{Name: name, OID: oid})
		}
		require.NoError(t, sink.Begin(columns))
		for _, line := range lines[1:] {
			require.NoError(t, sink.Row(values(t, line)))
		}
	}
	require.NoError(t, sink.End("CREATE TABLE"))
}

func values(t *testing.T, line string) (row [][]byte) {
	for line != "" {
		word := line
		if strings.HasPrefix(line, `"`) {
			quoted, err := strconv.QuotedPrefix(line)
			require.NoError(t, err)
			text, err := strconv.Unquote(quoted)
			require.NoError(t, err)
			row = append(row, []byte(text))
			line = strings.TrimLeft(line[len(quoted):], " ")
			continue
		}
		word, line, _ = strings.Cut(line, " ")
		if word == "NULL" {
			row = append(row, nil)
		} else {
			row = append(row, []byte(word))
		}
	}
	return row
}

// TestLongResult: rows beyond those that the widths come from are written, in the first ones' widths.
func TestLongResult(t *testing.T) {
	var out bytes.Buffer
	writer := bufio.NewWriter(&out)
	sink, err := present.New("table", writer)
	require.NoError(t, err)
	require.NoError(t, sink.Begin([]conversation.Column{{Name: "n", OID: pgformat.Int4}}))
	const rows = present.WidthRows + 3
	for i := range rows {
		require.NoError(t, sink.Row([][]byte{[]byte(strconv.Itoa(i * 1000))}))
	}
	require.NoError(t, sink.End("SELECT"))
	require.NoError(t, writer.Flush())
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, fmt.Sprintf("(%d rows)", rows), lines[2+rows])
	require.Equal(t, " 10002000", lines[1+rows])
}
