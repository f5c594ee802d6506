package cancelled

import (
	"fmt"
	"slices"
	"strings"
)

// Statement is one that is ended before it is over.
type Statement struct {
	Kind, Name, SQL string
	Read            string // COPY FROM STDIN: what is sent again and again
	Held            string // what another client has done in a block that stays open
	Undo            string // takes back what the statement has done when it was faster than what ends it
}

// Statements are all of them, but the queries of TPC-H; those of a kind follow each other.
func Statements() []Statement { return slices.Concat(writes, alterations, waits, texts(), functions) }

// writes are statements that write, and COPY out.
var writes = []Statement{
	{Kind: "writing", Name: "COPY TO STDOUT", SQL: "COPY (SELECT * FROM lineitem ORDER BY l_comment) TO STDOUT"},
	{Kind: "writing", Name: "COPY FROM STDIN",
		SQL: "COPY cancelled FROM STDIN", Read: strings.Repeat("1\tsome text that is copied\n", 2000)},
	{Kind: "writing", Name: "CREATE TABLE AS",
		SQL: "CREATE TABLE cancelled2 AS SELECT a.*, random() AS r FROM lineitem a, range(1000)"},
	{Kind: "writing", Name: "INSERT",
		SQL: "INSERT INTO cancelled SELECT l_orderkey, l_comment FROM lineitem, range(1000)"},
	{Kind: "writing", Name: "UPDATE",
		SQL: "UPDATE lineitem SET l_comment = upper(l_comment) || (SELECT count(*) FROM range(100000000) r(i) " +
			"WHERE i % 7 = 1)"},
	{Kind: "writing", Name: "DELETE",
		SQL: "DELETE FROM lineitem WHERE l_quantity > (SELECT sum(hash(i) % 7) FROM range(100000000) r(i))"},
	{Kind: "writing", Name: "MERGE",
		SQL: "MERGE INTO lineitem USING (SELECT l_orderkey AS k, l_linenumber AS n FROM lineitem, range(10)) s ON " +
			"l_orderkey = k AND l_linenumber = n WHEN MATCHED THEN UPDATE SET l_comment = upper(l_comment) WHEN NOT " +
			"MATCHED THEN DO NOTHING"},
}

// alterations look at all rows of a table before it is what they say.
var alterations = []Statement{
	{Kind: "altering", Name: "CREATE INDEX",
		SQL: "CREATE INDEX cancelled_i ON lineitem (l_comment)", Undo: "DROP INDEX cancelled_i"},
	{Kind: "altering", Name: "ADD UNIQUE",
		SQL:  "ALTER TABLE lineitem ADD CONSTRAINT cancelled_u UNIQUE (l_comment, l_orderkey, l_linenumber)",
		Undo: "ALTER TABLE lineitem DROP CONSTRAINT cancelled_u"},
	{Kind: "altering", Name: "ADD CHECK",
		SQL:  "ALTER TABLE lineitem ADD CONSTRAINT cancelled_c CHECK (l_comment NOT LIKE '%no such%comment%')",
		Undo: "ALTER TABLE lineitem DROP CONSTRAINT cancelled_c"},
	{Kind: "altering", Name: "ADD FOREIGN KEY",
		SQL:  "ALTER TABLE lineitem ADD CONSTRAINT cancelled_f FOREIGN KEY (l_orderkey) REFERENCES orders",
		Undo: "ALTER TABLE lineitem DROP CONSTRAINT cancelled_f"},
	{Kind: "altering", Name: "ADD COLUMN",
		SQL:  "ALTER TABLE lineitem ADD COLUMN cancelled_g text GENERATED ALWAYS AS (upper(l_comment)) STORED",
		Undo: "ALTER TABLE lineitem DROP COLUMN cancelled_g"},
	{Kind: "altering", Name: "ALTER COLUMN TYPE",
		SQL:  "ALTER TABLE cancelled_k ALTER k TYPE text",
		Undo: "ALTER TABLE cancelled_k ALTER k TYPE bigint USING k::bigint"},
}

// waits are for a row that another client has changed, which does not end.
var waits = []Statement{
	{Kind: "waiting", Name: "UPDATE", SQL: "UPDATE cancelled_w SET b = 'mine' WHERE a = 1", Held: changesRow},
	{Kind: "waiting", Name: "DELETE", SQL: "DELETE FROM cancelled_w", Held: changesRow},
	{Kind: "waiting", Name: "SELECT FOR UPDATE",
		SQL: "SELECT * FROM cancelled_w WHERE a = 1 FOR UPDATE", Held: changesRow},
	{Kind: "waiting", Name: "MERGE",
		SQL:  "MERGE INTO cancelled_w USING (SELECT 1 AS k) s ON a = k WHEN MATCHED THEN UPDATE SET b = 'mine'",
		Held: changesRow},
}

const changesRow = "UPDATE cancelled_w SET b = 'theirs' WHERE a = 1"

// Tables makes what the statements are about, beside TPC-H.
var Tables = []string{
	"CREATE TABLE cancelled (a bigint, b text)",
	"CREATE TABLE cancelled_w (a bigint PRIMARY KEY, b text)",
	"INSERT INTO cancelled_w SELECT i, 'a row' FROM range(100) r(i)",
	"CREATE TABLE cancelled_k AS SELECT l_orderkey AS k FROM lineitem",
	"ALTER TABLE orders ADD PRIMARY KEY (o_orderkey)",
}

// texts take about a second to be planned, and the first one years.
func texts() []Statement {
	list := func(n int, between, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
		}
		return strings.Join(parts, between)
	}
	chain := "WITH c0 AS (SELECT 1 AS a)"
	for i := range 30 {
		chain += fmt.Sprintf(", c%d AS NOT MATERIALIZED (SELECT x.a FROM c%d x, c%[2]d y)", i+1, i)
	}
	return []Statement{
		{Kind: "planning", Name: "2^30 CTEs", SQL: chain + " SELECT count(*) FROM c30"},
		{Kind: "planning", Name: "a union of 10,000",
			SQL: "SELECT count(*) FROM (" + list(10_000, " UNION ALL ", "SELECT # AS a") + ")"},
		{Kind: "planning", Name: "10,000 columns",
			SQL: "SELECT " + list(10_000, ", ", "a + # AS c#") + " FROM range(1) r(a)"},
		{Kind: "planning", Name: "IN (200,000)",
			SQL: "SELECT count(*) FROM range(10) r(a) WHERE a IN (" + list(200_000, ", ", "#") + ")"},
		{Kind: "planning", Name: "an OR of 4,000",
			SQL: "SELECT count(*) FROM range(10) r(a) WHERE " + list(4000, " OR ", "a = #")},
		{Kind: "planning", Name: "400 calls in each other",
			SQL: "SELECT " + strings.Repeat("abs(", 400) + "1" + strings.Repeat(")", 400)},
		{Kind: "planning", Name: "VALUES of 50,000",
			SQL: "SELECT count(*) FROM (VALUES " + list(50_000, ", ", "(#, 'x#')") + ") v"},
		{Kind: "planning", Name: "a join of 120",
			SQL: "SELECT count(*) FROM " + list(120, ", ", "(SELECT # AS a) t#") + " WHERE " +
				list(119, " AND ", "t#.a < t119.a")},
	}
}

// functions are in one value for about a second: DuckDB goes on so long, and the next statement waits for it.
var functions = []Statement{
	{Kind: "functions", Name: "levenshtein", SQL: "SELECT levenshtein(repeat('a', 24000), repeat('b', 24000))"},
	{Kind: "functions", Name: "damerau_levenshtein",
		SQL: "SELECT damerau_levenshtein(repeat('ab', 5000), repeat('ba', 5000))"},
	{Kind: "functions", Name: "levenshtein of a row",
		SQL: "SELECT max(levenshtein(repeat('a', 18000 + i::int), repeat('b', 18000))) FROM range(2) r(i)"},
	{Kind: "functions", Name: "replace", SQL: "SELECT length(replace(repeat('a', 10000000), 'a', repeat('b', 20)))"},
	{Kind: "functions", Name: "translate", SQL: "SELECT length(translate(repeat('a', 50000000), 'a', 'b'))"},
	{Kind: "functions", Name: "lpad", SQL: "SELECT length(lpad('a', 80000000, 'b'))"},
	{Kind: "functions", Name: "regexp_replace",
		SQL: "SELECT length(regexp_replace(repeat('a', 8000000), 'a+?', 'bb', 'g'))"},
	{Kind: "functions", Name: "jaro_similarity",
		SQL: "SELECT jaro_similarity(repeat('ab', 300000), repeat('ba', 300000))"},
	{Kind: "functions", Name: "list_sort", SQL: "SELECT len(list_sort(range(3000000)))"},
	{Kind: "functions", Name: "list_reduce", SQL: "SELECT list_reduce(range(1000000), lambda x, y: x + y)"},
	{Kind: "functions", Name: "text of a bignum", SQL: "SELECT length(repeat('9', 12000)::bignum::text)"},
}

// Sums reports whether the tables are as they were.
const Sums = "SELECT (SELECT count(*) FROM cancelled), (SELECT string_agg(b, ' ' ORDER BY a) FROM cancelled_w), " +
	"(SELECT sum(hash(l_comment))::text FROM lineitem), " +
	"(SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace), " +
	"(SELECT string_agg(conname, ' ' ORDER BY conname) FROM pg_constraint), " +
	"(SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public')"
