package sqllist_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/sqllist"
)

const document = "# Title\n\n```sql\nCREATE TABLE t (a int);\n```\n\n## Operators\n\n| what | example | verdict | what comes |\n|---|---|---|---|\n" +
	"| `\\|\\|`, `^` | `SELECT 1 {name} 2` | differs | `{name}: a \\| b`; PostgreSQL: `3`; DuckDB: `4`, as it is |\n" +
	"| rows of `COPY` | `COPY t FROM STDIN` `1\\tx` | refused | `22P02: no` |\n\n## Types\n\n| what | example | verdict | what comes |\n|---|---|---|---|\n" +
	"| `int*` | `SELECT 1` |  |  |\n\nEnd.\n"

// SL1.
func TestRowsAreReadAndWritten(t *testing.T) {
	d, err := sqllist.Parse(document)
	require.NoError(t, err)
	require.Equal(t, "CREATE TABLE t (a int);\n", d.Setup)
	require.Len(t, d.Rows, 3)
	first, second, third := d.Rows[0], d.Rows[1], d.Rows[2]
	require.Equal(t, []string{"||", "^"}, first.Names())
	require.Equal(t, sqllist.Row{
		Section: "Operators", Line: 11, What: "`||`, `^`", Example: "SELECT 1 {name} 2", Verdict: sqllist.Differs,
		Answer: "{name}: a | b", PostgreSQL: "3", DuckDB: "4", Prose: ", as it is",
	}, *first)
	require.Equal(t, []sqllist.Example{{Name: "^", SQL: "SELECT 1 ^ 2", Answer: "^: a | b"}, {Name: "||", SQL: "SELECT 1 || 2", Answer: "||: a | b"}}, first.Examples(nil))
	require.Equal(t, `1\tx`, second.Data)
	require.Equal(t, "22P02: no", second.Answer)
	require.Equal(t, sqllist.Verdict(""), third.Verdict)
	require.Equal(t, "Types", third.Section)
	third.Verdict, third.Answer = sqllist.Kept, "1"
	again, err := sqllist.Parse(d.String())
	require.NoError(t, err)
	require.Equal(t, d.Rows, again.Rows)
	third.Verdict, third.Answer = "", ""
}

func TestNamesAndPatterns(t *testing.T) {
	d, err := sqllist.Parse(document)
	require.NoError(t, err)
	for name, want := range map[string][2]bool{"int4": {true, false}, "INT*": {true, true}, "text": {}} {
		covers, exactly := d.Rows[2].Covers(name)
		require.Equal(t, want, [2]bool{covers, exactly}, name)
	}
}

// SL2.
func TestLinesThatAreNoRows(t *testing.T) {
	head := "| what | example | verdict | what comes |\n|---|---|---|---|\n"
	for text, want := range map[string]string{
		head + "| a | `SELECT 1 | 2` | kept | `3` |": "line 3: a row has 4 cells, this one 5",
		head + "| a | SELECT 1 | kept | `3` |":       "line 3: the second cell is an example",
		head + "| a | `SELECT 1` | maybe | `3` |":    `line 3: the third cell is kept, differs or refused, not "maybe"`,
	} {
		_, err := sqllist.Parse(text)
		require.ErrorContains(t, err, want)
	}
}
