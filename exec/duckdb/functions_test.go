package duckdb_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/invariants"
)

// classes reads testdata/functions.txt: "kind name" → class.
func classes(t *testing.T) map[string]string {
	text, err := os.ReadFile("testdata/functions.txt")
	require.NoError(t, err)
	out := map[string]string{}
	for _, paragraph := range strings.Split(string(text), "\n\n")[1:] {
		head, names, found := strings.Cut(paragraph, ":\n")
		require.True(t, found, paragraph)
		class, kind, found := strings.Cut(head, " ")
		require.True(t, found, head)
		for _, name := range strings.Fields(names) {
			require.NotContains(t, out, kind+" "+name)
			out[kind+" "+name] = class
		}
	}
	return out
}

// Every function that DuckDB has is classified; what is refused is refused, whichever way it is called, and the others are not.
func TestEveryFunctionIsClassified(t *testing.T) {
	c := openWith(t, duckdb.Options{Threads: 1})
	classes := classes(t)
	for _, function := range ask(t, c, "SELECT DISTINCT function_type || ' ' || function_name FROM duckdb_functions() WHERE NOT starts_with(function_name, 'csm_csm')") {
		class, found := classes[function]
		if !found {
			t.Errorf("DuckDB has a function that is not classified: %s", function)
			continue
		}
		delete(classes, function)
		kind, name, _ := strings.Cut(function, " ")
		quoted := duckdb.QuoteIdentifier(name)
		calls := []string{"SELECT %(NULL)", "SELECT * FROM %(NULL)", "SELECT * FROM system.main.%(NULL)", "SELECT * FROM (SELECT 1) AS x, %/* c */ -- d\n (NULL)", "CREATE TEMP MACRO m() AS TABLE FROM %(NULL)"}
		for _, call := range calls {
			for _, spelled := range []string{quoted, strings.ToUpper(quoted), strings.ToUpper(name)} {
				if spelled == strings.ToUpper(name) && strings.ContainsAny(name, "!~%&*+-/<>=@^|") {
					continue
				}
				sql := strings.ReplaceAll(call, "%", spelled)
				err := c.Check(sql)
				switch class {
				case "refused":
					requireState(t, "42501", err)
				case "crashing":
					requireState(t, "0A000", err)
				case "value", "session", "catalog", "file":
					require.NoError(t, err, sql)
				case "pragma":
				default:
					t.Fatalf("%s: there is no class %s", function, class)
				}
			}
		}
		if class == "file" {
			require.Contains(t, readersText(), name+"(", "%s %s opens files: TestNoAttackReachesAFile must try it", kind, name)
		}
	}
	require.Empty(t, classes, "DuckDB has them no more")
}

func readersText() string {
	var b strings.Builder
	for _, r := range readers {
		b.WriteString(r.sql)
	}
	return b.String()
}

// A text is not refused for a word in it.
func TestWordsAreNoCalls(t *testing.T) {
	c := openWith(t, duckdb.Options{Threads: 1})
	for _, sql := range []string{
		"SELECT 'switch (x)'", `SELECT 1 AS "switch"`, "SELECT E'\\'switch(1)'", "SELECT $$ switch(1) $$, $q$ list_where( $$ $q$", "SELECT 1 -- switch(1)", "SELECT /* /* */ switch(1) */ 1", "SELECT switch FROM (SELECT 1 AS switch)",
		"SELECT my_switch(1) FROM t", "SELECT list_wherever(1)", "SELECT 'it''s switch('",
	} {
		require.NoError(t, c.Check(sql), sql)
	}
	for _, sql := range []string{
		"SELECT switch(1)", "SELECT 'a', SWITCH (1)", `SELECT "switch"(1)`, "SELECT E'\\'', switch(1)", "SELECT '\\', switch(1)", "SELECT $1, switch(1)", "SELECT $$'$$, switch(1)", `SELECT "a""'", switch(1)`, "SELECT x.switch/**/(1)",
		"SELECT name'', switch(1)", "SELECT 1--'\n, switch(1)", "SELECT /*'*/ switch(1)", "SELECT [1].list_where([true])",
	} {
		requireState(t, "0A000", c.Check(sql))
	}
}

// The position of a refused call is its place in the text as the client wrote it: letters whose lower case has another length included.
func TestRefusedCallIsWhereTheClientWroteIt(t *testing.T) {
	c := openWith(t, duckdb.Options{Threads: 1})
	for sql, call := range map[string]string{
		"SELECT switch(1)": "switch(1)", "SELECT 'İİ', SWITCH(1)": "SWITCH(1)", "SELECT\u00a0'Ⱥ',\u2003\"Switch\"(1)": `"Switch"(1)`,
	} {
		var refused *duckdb.Error
		require.ErrorAs(t, c.Check(sql), &refused, sql)
		require.Equal(t, call, sql[refused.Byte:])
	}
}

// Where DuckDB's parser finds a call, the search in the text finds it.
func TestNoCallIsHidden(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("only test builds, with the tag invariants, let calls through that end the process")
	}
	searching := openWith(t, duckdb.Options{Threads: 1})
	t.Setenv(duckdb.CrashingVariable, "1")
	parsing := openWith(t, duckdb.Options{Threads: 1})
	pieces := strings.Split("a|E|e|b|x|u&|1|1.5|0x1|$1|$|$$|$a$|'|'|'b'|E'\\'|\\|\"|\"c\"|--|--x|/*|*/|/*y*/|-|+|,|,|,|.|::|[|]|{|}|(|)| |\n|\r|\u00a0|\u2003|switch(1)|Switch|\"switch\"|(1)|\u200b(2)", "|")
	hidden, found := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		sql := "SELECT " + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "") + rapid.SampledFrom([]string{"", ", switch(1)", "\n, 'z' || switch(1)"}).Draw(t, "end")
		mentions, err := parsing.Mentions(context.Background(), sql)
		if err != nil {
			return
		}
		calls := slices.ContainsFunc(mentions.Functions, func(m duckdb.Mention) bool { return strings.EqualFold(m.Name, "switch") })
		if !calls {
			hidden++
			return
		}
		found++
		require.Error(t, searching.Check(sql), "%q", sql)
	})
	require.Positive(t, hidden)
	require.Positive(t, found)
}

// No setting but the session's can be changed, in any way: those that are, are named in sessionSettings.
func TestEverySettingIsLocked(t *testing.T) {
	c := openWith(t, duckdb.Options{Threads: 1, SpillDirectory: t.TempDir()})
	allowed := map[string]bool{"schema": true, "search_path": true, "null_order": true} // the last: default_null_order
	for _, name := range duckdb.SessionSettings {
		allowed[strings.ToLower(name)] = true
	}
	names := ask(t, c, "SELECT name FROM duckdb_settings()")
	require.Greater(t, len(names), 100)
	for _, name := range names {
		if allowed[strings.ToLower(name)] {
			continue
		}
		for _, sql := range []string{"SET %s = 'x'", "SET %s = 1", "SET %s = true", "SET %s = []", "SET GLOBAL %s = 1", "SET SESSION %s = '1'", "RESET %s", "RESET GLOBAL %s", "PRAGMA %s = 1", `SET "%s" = NULL`} {
			_, err := tryAsk(c, strings.ReplaceAll(sql, "%s", name))
			require.Error(t, err, "%s: %s", sql, name)
		}
	}
}
