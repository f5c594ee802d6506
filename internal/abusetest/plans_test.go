package abusetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// repeated is a text for each number from 1 to n, and the number before it.
func repeated(n int, separator, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i+1, i)
	}
	return strings.Join(parts, separator)
}

// endless are statements that no planner finishes: they are interrupted when they have taken the node's memory, or when
// their client leaves.
func endless() (list []string) {
	for _, link := range []string{
		"SELECT a.i FROM c%[2]d a, c%[2]d b",
		"SELECT i FROM c%[2]d UNION ALL SELECT i + 1 FROM c%[2]d",
		"SELECT i FROM c%[2]d WHERE i IN (SELECT i FROM c%[2]d)",
	} {
		links := repeated(30, ", ", "c%d AS NOT MATERIALIZED ("+link+")")
		list = append(list, "WITH c0 AS (SELECT i FROM words), "+links+" SELECT count(*) FROM c30")
	}
	return list
}

// planForever has plans made that never end.
func planForever(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		texts := endless()
		for i := 0; i < a.times && ctx.Err() == nil; i++ {
			// The last one is left behind: its client goes away.
			if i == a.times-1 {
				if err := c.send(&pgproto3.Query{String: texts[(i+a.number)%len(texts)]}); err != nil {
					return err
				}
				a.wait(ctx)
				return nil
			}
			if err := c.ask(a.tally, "SET statement_timeout = 5000"); err != nil {
				return err
			}
			if err := c.ask(a.tally, texts[(i+a.number)%len(texts)]); err != nil {
				return err
			}
		}
		return nil
	})
}

// endSoon has statements that take long to plan, or to run, ended by their timeout at one moment after another.
func endSoon(ctx context.Context, n *target, a attacker) error {
	texts := []string{
		"SELECT " + repeated(1_000, " + ", "(i * %d - %d)") + " FROM words",
		"SELECT " + repeated(100, " || ", "to_json(ARRAY[%d, %d])::text"),
		"SELECT count(*) FROM words WHERE i IN (" + repeated(5_000, ", ", "%d, %d") + ")",
		repeated(200, " UNION ALL ", "SELECT i * %d + %d FROM words"),
		"SELECT word, count(*), sum(i) OVER (PARTITION BY word) FROM words GROUP BY word, i ORDER BY 2 DESC, 1",
		"SELECT count(*) FROM words a, words b WHERE (a.i * b.i::bigint) % 1000003 = -1",
		"WITH c0 AS (SELECT i FROM words), " + repeated(12, ", ", "c%d AS (SELECT a.i FROM c%[2]d a JOIN c%[2]d b USING (i))") +
			" SELECT count(*) FROM c12",
		"SELECT to_json(list(word)) FROM words",
	}
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		for i := 0; i < a.times && ctx.Err() == nil; i++ {
			if err := c.ask(a.tally, fmt.Sprintf("SET statement_timeout = %d", 1+(i*7+a.number)%50)); err != nil {
				return err
			}
			if err := c.ask(a.tally, texts[(i+a.number)%len(texts)]); err != nil {
				return err
			}
		}
		return nil
	})
}
