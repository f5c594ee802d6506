package main_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var queryLine = regexp.MustCompile(`(?m)^Q\d\d +[\d.]+ ms  ok$`)

// TestTPCH is the main job: load, ask over the wire, ask in another process over the same bytes; the answers are right.
func TestTPCH(t *testing.T) {
	n := shared.get(t)
	_, errOut, code := n.csmsql(t, "", "tpch", "run", "--schema", "tiny")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "csmsql tpch load", "a missing table must say what to do")

	out, errOut, code := n.csmsql(t, "", "tpch", "load", "--sf", "0.01", "--schema", "tiny")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "scale factor 0.01 is loaded")
	require.Contains(t, errOut, "60,175 rows")

	for _, attach := range []string{"--attach=false", "--attach"} {
		out, errOut, code := n.csmsql(t, "", "tpch", "run", "--schema", "tiny", attach)
		require.Zero(t, code, out+errOut)
		require.Len(t, queryLine.FindAllString(out, -1), 22, out)
		require.Regexp(t, `(?m)^sum +[\d.]+ ms  ok$`, out)
	}

	_, errOut, code = n.csmsql(t, "", "tpch", "load", "--sf", "0.01", "--schema", "tiny")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "--replace")
	_, errOut, code = n.csmsql(t, "", "tpch", "run", "--schema", "tiny", "--sf", "1")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "the tables are those of scale factor 0.01, not 1")
}

// TestTPCHWrongAnswer: tables that are not what they should be give a wrong answer and exit code 1, and a scale factor
// without published answers is not called right.
func TestTPCHWrongAnswer(t *testing.T) {
	n := shared.get(t)
	_, errOut, code := n.csmsql(t, "", "tpch", "load", "--sf", "0.01", "--schema", "altered")
	require.Zero(t, code, errOut)
	_, errOut, code = n.csmsql(t, "", "sql", "-c", `CREATE OR REPLACE TABLE altered.lineitem AS
		SELECT * REPLACE (CAST(l_quantity + 1 AS DECIMAL(15, 2)) AS l_quantity) FROM altered.lineitem`)
	require.Zero(t, code, errOut)
	out, _, code := n.csmsql(t, "", "tpch", "run", "--schema", "altered", "--query", "1,2")
	require.Equal(t, 1, code)
	require.Regexp(t, `(?m)^Q01 .* WRONG: row 1, column sum_qty: got`, out)
	require.Regexp(t, `(?m)^Q02 .* ok$`, out)
	require.Contains(t, out, "1 ok, 1 WRONG")

	_, errOut, code = n.csmsql(t, "", "tpch", "load", "--sf", "0.002", "--schema", "odd")
	require.Zero(t, code, errOut)
	out, _, code = n.csmsql(t, "", "tpch", "run", "--schema", "odd", "--query", "6", "--runs", "3")
	require.Zero(t, code)
	require.Regexp(t, `(?m)^Q06 .* unchecked$`, out)
	require.Contains(t, out, "no published answers at scale factor 0.002")
}

// TestStatus shows a table that was made, to people and to programs.
func TestStatus(t *testing.T) {
	n := shared.get(t)
	_, err := n.connect(t).Exec(deadline(t), "CREATE SCHEMA shown; CREATE TABLE shown.counted AS SELECT range AS i FROM range(1234)")
	require.NoError(t, err)
	out, errOut, code := n.csmsql(t, "", "status")
	require.Zero(t, code, errOut)
	require.Regexp(t, `shown\.counted +1,234 `, out)
	require.Contains(t, out, n.frontend.Address)
	out, errOut, code = n.csmsql(t, "", "status", "--json")
	require.Zero(t, code, errOut)
	var status struct {
		Tables []struct {
			Schema, Name string
			Rows         int64
		}
		Regions  []struct{ Capacity, Used int64 }
		Counters []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &status))
	require.NotEmpty(t, status.Counters)
	require.EqualValues(t, 512<<20, status.Regions[0].Capacity)
	found := false
	for _, table := range status.Tables {
		found = found || table.Schema == "shown" && table.Name == "counted" && table.Rows == 1234
	}
	require.True(t, found, strings.TrimSpace(out))
}
