package clienttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/internal/testsuite"
)

// longTexts are planned for long, in each of DuckDB's phases, or run for long.
func longTexts() []string {
	list := func(n int, separator, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i+1, i)
		}
		return strings.Join(parts, separator)
	}
	return []string{
		"WITH c0 AS (SELECT i FROM many), " + list(13, ", ", "c%d AS (SELECT a.i FROM c%[2]d a JOIN c%[2]d b USING (i))") +
			" SELECT count(*) FROM c13",
		"SELECT " + list(2000, " + ", "i * %d") + " FROM many",
		"SELECT " + list(2000, ", ", "i + %d") + " FROM many LIMIT 1",
		"SELECT count(*) FROM many WHERE i IN (" + list(20000, ", ", "%d") + ")",
		list(300, " UNION ALL ", "SELECT i + %d FROM many"),
		"SELECT " + list(200, " || ", "to_json(repeat('ab', %d))::text"),
		"SELECT " + list(12, ", ", "(SELECT max(i) FROM many WHERE i > x.i + %d)") + " FROM many x LIMIT 3",
		"SELECT count(*) FROM many a, many b WHERE (a.i * b.i) % 1000003 = -1",
		"SELECT s, count(*), sum(i) OVER (PARTITION BY s) FROM many GROUP BY s, i ORDER BY 2 DESC, 1",
		"SELECT array_agg(i), array_agg(s) FROM many",
		"UPDATE many SET s = s || 'x' WHERE i % 3 = 1",
		"SELECT " + list(60, ", ", "to_json(ARRAY[%d, %d])::text || to_json('a text'::text)"),
		"SELECT count(*) FROM " + list(15, ", ", "worded w%d") + " WHERE w1.w <> 'label 8 of an enumerated type'",
	}
}

// TestStatementsEndAtAnyMoment has several sessions ask everything that TestPostgresDialect asks, and texts that are
// planned or run for long, each with a statement_timeout that ends it at another moment: in a function of DuckDB's that
// catches nothing, an exception ends the node. Each is answered, or ended, and no session breaks.
func TestStatementsEndAtAnyMoment(t *testing.T) {
	const sessions = 4
	statements := 150 * testsuite.Effort()
	seed := uint64(time.Now().UnixNano()) % 1_000_000
	if text := os.Getenv("CSMSQL_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("seed %d (CSMSQL_SEED=%[1]d)", seed)
	data, err := os.ReadFile("testdata/postgres/statements.txt")
	require.NoError(t, err)
	var setup, questions []string
	family := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		switch name, named := strings.CutPrefix(line, "# "); {
		case named:
			family = name
		case line == "":
		case family == "setup":
			setup = append(setup, line)
		case strings.HasPrefix(line, "SELECT") && !strings.Contains(line, " INTO "):
			questions = append(questions, expand(line)...)
		}
	}
	room := []string{"DROP SCHEMA IF EXISTS ended CASCADE", "CREATE SCHEMA ended", "SET search_path = ended"}
	words := make([]string, 254)
	for i := range words {
		words[i] = fmt.Sprintf("'label %d of an enumerated type'", i)
	}
	last := []string{
		"CREATE TABLE many AS SELECT i, i::text AS s FROM generate_series(1, 300000) r(i)",
		"CREATE TYPE word AS ENUM (" + strings.Join(words, ", ") + ")",
		"CREATE TABLE worded (w word)", "INSERT INTO worded VALUES (" + words[7] + ")",
	}
	dsn := shared.dsn() + " options='-c csm.dialect=postgres'"
	conn, err := pgconn.Connect(t.Context(), dsn)
	require.NoError(t, err)
	for _, sql := range append(append(room, setup...), last...) {
		require.NoError(t, conn.Exec(t.Context(), sql).Close(), sql)
	}
	long := longTexts()
	var answered, ended, failed [sessions]int
	group, ctx := errgroup.WithContext(t.Context())
	for at := range sessions {
		group.Go(func() error {
			random := rand.New(rand.NewPCG(seed, uint64(at)))
			c, err := pgconn.Connect(ctx, dsn+" search_path=ended")
			if err != nil {
				return err
			}
			defer c.Close(context.WithoutCancel(ctx))
			for range statements {
				sql := questions[random.IntN(len(questions))]
				if random.IntN(3) == 0 {
					sql = long[random.IntN(len(long))]
				}
				after := 1 + random.IntN(6)
				if random.IntN(2) == 0 {
					after = 1 + random.IntN(60)
				}
				var known *pgconn.PgError
				canceled := func(err error) bool { return errors.As(err, &known) && known.Code == "57014" }
				set := func() error { return c.Exec(ctx, fmt.Sprintf("SET statement_timeout = %d", after)).Close() }
				err := set()
				for ; canceled(err); err = set() { // it has a timeout, too
				}
				if err != nil {
					return err
				}
				switch err := c.Exec(ctx, sql).Close(); {
				case err == nil:
					answered[at]++
				case canceled(err):
					ended[at]++
				case errors.As(err, &known) && known.Severity == "ERROR" && known.Code != "XX000":
					failed[at]++
				default:
					return fmt.Errorf("%w: %.300s", err, sql)
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	for at := range sessions {
		t.Logf("session %d: %d answered, %d ended, %d failed", at, answered[at], ended[at], failed[at])
		assert.Positive(t, answered[at])
		assert.Positive(t, ended[at])
	}
	require.NoError(t, conn.Exec(t.Context(), "DROP SCHEMA ended CASCADE").Close())
	require.NoError(t, conn.Close(t.Context()))
}
