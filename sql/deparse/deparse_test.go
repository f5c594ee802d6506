package deparse_test

import (
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/csmsql/csmsql/sql/deparse"
)

// holders have a place for an expression, @; held are expressions.
var (
	holders = []string{
		"@ IS NULL", "@ IS NOT NULL", "@ IS TRUE", "@ IS UNKNOWN", "@ IN (p, q)", "p IN (@, q)", "@ NOT IN (p)", "@ LIKE p", "p LIKE @",
		"p ILIKE @", "@ ILIKE p", "@ NOT LIKE p", "p LIKE q ESCAPE @", "@ SIMILAR TO p", "p SIMILAR TO @", "@ BETWEEN p AND q",
		"p BETWEEN @ AND q", "p BETWEEN p AND @", "@ NOT BETWEEN p AND q", "@ BETWEEN SYMMETRIC p AND q", "@ = p", "p = @", "@ < p", "p <> @",
		"@ + p", "p + @", "p - @", "@ * p", "p * @", "p ^ @", "@ ^ p", "- @", "~ @", "@ || p", "p || @", "@ ~ p", "@ -> p", "p ->> @",
		"@ IS DISTINCT FROM p", "p IS DISTINCT FROM @", "p IS NOT DISTINCT FROM @", "@ = ANY (p)", "p = ANY (@)", "@ = ANY (SELECT 1)",
		"@ IN (SELECT 1)", "NOT @", "@ AND p", "p AND @", "@ OR p", "p OR @", "@::text", "CAST(@ AS int)", "@ COLLATE x", "@ AT TIME ZONE p",
		"p AT TIME ZONE @", "(@).f", "(@)[1]", "f(@)", "CASE @ WHEN p THEN q END", "CASE WHEN @ THEN p ELSE @ END", "coalesce(@, p)",
		"ARRAY[@]", "ROW(@)", "(p, @)", "nullif(@, p)", "greatest(@, p)", "count(*) FILTER (WHERE @)",
		"sum(@) OVER (PARTITION BY @ ORDER BY @)", "extract(year FROM @)", "position(@ IN p)", "substring(p FROM @)",
		"overlay(p PLACING @ FROM 1)", "trim(@ FROM p)", "@ OPERATOR(pg_catalog.+) p", "p OPERATOR(pg_catalog.~) @", "f(VARIADIC @)",
		"f(a => @)", "@ IS JSON", "p COLLATE x LIKE @", "EXISTS (SELECT @)", "(SELECT @) IS NULL", "array_agg(p ORDER BY @ DESC)",
		"@ IS DOCUMENT", "@ IS NORMALIZED",
	}
	held = []string{
		"a", "1", "-1", "'x'", "a OR b", "a AND b", "NOT a", "NOT a OR b", "a = b", "a < b", "a <> b", "a + b", "a - b", "a * b", "- a", "a || b",
		"a ~ b", "a ^ b", "a IS NULL", "a IS NOT NULL", "a IS TRUE", "a IN (b, c)", "a NOT IN (b)", "a LIKE b", "a NOT ILIKE b",
		"a SIMILAR TO b", "a BETWEEN b AND c", "a IS DISTINCT FROM b", "a = ANY (b)", "a = ALL (SELECT 1)", "a IN (SELECT 1)",
		"EXISTS (SELECT 1)", "(SELECT 1)", "a::text", "a COLLATE x", "a AT TIME ZONE b", "f(a)", "f(a).b", "CASE WHEN a THEN b END",
		"coalesce(a)", "ARRAY[a]", "(a, b)", "ROW(a)", "a[1]", "(a).b", "extract(year FROM a)", "count(*) FILTER (WHERE a)", "current_date",
		"interval '1' day", "a OPERATOR(pg_catalog.+) b", "a -> b", "$1", "a IS JSON", "a -> 'b' IS NULL", "DATE 'x'", "x.*",
	}
	queries = []string{
		"SELECT * FROM (a JOIN b ON x) JOIN (c LEFT JOIN d ON y) ON z", "SELECT 1 EXCEPT (SELECT 2 EXCEPT SELECT 3)",
		"(SELECT 1 EXCEPT SELECT 2) INTERSECT SELECT 3", "(SELECT 1 ORDER BY 1 LIMIT 2) UNION ALL (SELECT 2 OFFSET 1) ORDER BY 1 DESC NULLS LAST",
		"SELECT a, (SELECT b WHERE (c OR d) IS NULL) FROM t, LATERAL (SELECT (a = b) IN (c, d)) u WHERE NOT (a AND b) IS TRUE",
		"WITH RECURSIVE w AS (SELECT 1 UNION SELECT (a + 1) * 2 FROM w) SELECT DISTINCT ON (a, (b OR c) IS NULL) a FROM w GROUP BY (a OR b) IS NULL HAVING (a OR b) IS NULL",
	}
)

// DP1: what is written is read as what was there, whatever stands in whatever.
func TestDeparseKeepsTheTree(t *testing.T) {
	texts := append([]string(nil), queries...)
	for _, holder := range holders {
		for _, inner := range held {
			texts = append(texts, "SELECT "+strings.ReplaceAll(holder, "@", "("+inner+")"))
		}
	}
	tried := 0
	for _, text := range texts {
		parsed, err := pg.Parse(text)
		if err != nil {
			continue // there is no such expression
		}
		tried++
		want := deparse.WithoutPlaces(proto.Clone(parsed).(*pg.ParseResult))
		written, err := deparse.Text(parsed)
		require.NoError(t, err, text)
		again, err := pg.Parse(written)
		require.NoError(t, err, "%s: %s", text, written)
		require.True(t, proto.Equal(want, deparse.WithoutPlaces(again)), "%s: %s", text, written)
	}
	require.Greater(t, tried, len(texts)*9/10)
}
