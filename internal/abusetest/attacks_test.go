package abusetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// attack makes a node keep as much as it can. It ends when everything was refused or sent; an error is an answer that
// no client should get, however it behaves. Tables are named by the attacker's number, so that many attackers can run
// at once.
type attack struct {
	name string
	play func(ctx context.Context, n *target, a attacker) error
	// small and full are sizes: of make test, and of make abuse.
	small, full size
}

// size is how hard an attack is: so many clients, each so many times.
type size struct{ clients, times int }

// attacker is one of the clients of an attack, or of all attacks.
type attacker struct {
	size
	number  int
	longest int // of a message, in bytes
	tally   *tally
	hold    time.Duration // how long it keeps what it has got, and does not read
}

func (a attacker) table() string { return fmt.Sprintf("abused_%d", a.number) }

// attacks are those that ended nodes once, and what is like them.
var attacks = []attack{
	{"copy of long rows", copyLongRows, size{1, 1_000}, size{1, 6_000}},
	{"prepared statements", prepareMany, size{8, 200}, size{40, 10_000}},
	{"statements by PREPARE", prepareBySQL, size{4, 100}, size{20, 5_000}},
	{"portals with long arguments", bindLong, size{4, 10}, size{20, 40}},
	{"unfinished messages", leaveUnfinished, size{20, 8 << 20}, size{55, 31 << 20}},
	{"descriptions without Sync", describeMany, size{2, 20_000}, size{4, 200_000}},
	{"clients that do not read", readNothing, size{20, 1_000}, size{20, 100_000}},
	{"long texts of INSERT", insertLong, size{10, 2}, size{20, 40}},
	{"long expressions", selectLong, size{8, 4}, size{20, 40}},
	{"many versions", makeVersions, size{10, 40}, size{40, 400}},
	{"notices", makeNotices, size{8, 2}, size{20, 20}},
	{"savepoints", makeSavepoints, size{4, 2_000}, size{20, 200_000}},
	{"changes between savepoints", changeBetweenSavepoints, size{4, 1_000}, size{20, 4_000}},
	{"cursors", openCursors(repeatedText), size{4, 40}, size{20, 1_000}},
	{"cursors of the kernels", openCursors("SELECT i + 1, i + 2, i + 3, i + 4, word FROM words WHERE i <> 5"), size{4, 60}, size{20, 1_000}},
	{"long settings", setLong, size{8, 9}, size{20, 400}},
	{"results that are in the way", parkResults, size{8, 4}, size{20, 40}},
	{"plans without end", planForever, size{4, 3}, size{12, 6}},
	{"statements that are ended", endSoon, size{6, 100}, size{20, 1_000}},
}

// each runs an attack's clients at once.
func (a attacker) each(ctx context.Context, n *target, one func(ctx context.Context, c *client, a attacker) error) error {
	var group sync.WaitGroup
	failures := make([]error, a.clients)
	for i := range a.clients {
		group.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			c, err := n.session(ctx, "abuser", a.tally)
			if errors.Is(err, errTurnedAway) {
				return
			}
			if err != nil {
				failures[i] = fmt.Errorf("connect: %w", err)
				return
			}
			defer c.Close()
			mine := a
			mine.number = a.number*1000 + i
			failures[i] = one(ctx, c, mine)
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

// wait keeps what was got.
func (a attacker) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(a.hold):
	}
}

// copyLongRows is no attack: it must succeed, or find the region full.
func copyLongRows(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(_ context.Context, c *client, a attacker) error {
		if refused, err := c.wasRefused(a.tally, "CREATE TABLE IF NOT EXISTS "+a.table()+" (v text); TRUNCATE "+a.table()); refused || err != nil {
			return err
		}
		row := []byte(strings.Repeat("x", 100_000) + "\n")
		if err := c.put(&pgproto3.Query{String: "COPY " + a.table() + " FROM STDIN"}); err != nil {
			return err
		}
		for range a.times {
			if err := c.put(&pgproto3.CopyData{Data: row}); err != nil {
				return err
			}
		}
		if err := c.send(&pgproto3.CopyDone{}); err != nil {
			return err
		}
		return errors.Join(c.ready(a.tally), c.ask(a.tally, "DROP TABLE "+a.table()))
	})
}

// prepareMany names as many statements as there may be on a connection, by the protocol.
func prepareMany(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		const together = 50
		for i := 0; i < a.times; i += together {
			for k := range together {
				sql := fmt.Sprintf("SELECT word, max(i) OVER (ORDER BY i) + %d, word || $2 AS w FROM words WHERE i = $1 AND word LIKE 'v%%'", i+k)
				if err := c.put(&pgproto3.Parse{Name: fmt.Sprintf("s%d", i+k), Query: sql}, &pgproto3.Sync{}); err != nil {
					return err
				}
			}
			if err := c.out.Flush(); err != nil {
				return err
			}
			for range together {
				if err := c.ready(a.tally); err != nil {
					return err
				}
			}
			if ctx.Err() != nil {
				return nil
			}
		}
		a.wait(ctx)
		return nil
	})
}

// prepareBySQL does it by PREPARE, with long texts.
func prepareBySQL(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		for i := 0; i < a.times && ctx.Err() == nil; i++ {
			if err := c.ask(a.tally, fmt.Sprintf("PREPARE p%d AS SELECT i, '%s' FROM words", i, strings.Repeat("x", 50_000))); err != nil {
				return err
			}
		}
		a.wait(ctx)
		return nil
	})
}

// bindLong opens portals with arguments of 300 kB to 30 MB in one transaction.
func bindLong(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		if err := c.ask(a.tally, "BEGIN"); err != nil {
			return err
		}
		if err := errors.Join(c.send(&pgproto3.Parse{Name: "long", Query: "SELECT length($1::text)"}, &pgproto3.Sync{}), c.ready(a.tally)); err != nil {
			return err
		}
		for i := 0; i < a.times && ctx.Err() == nil; i++ {
			name := fmt.Sprintf("p%d", i)
			length := []int{300_000, 1_000_000, 5_000_000, a.longest}[(i+a.number)%4]
			body := 1 + len(name) + len("long") + 1 + 2 + 2 + 4 + length + 2
			if err := c.begin('B', body); err != nil {
				return err
			}
			head := append([]byte(name+"\x00long\x00"), 0, 0, 0, 1, byte(length>>24), byte(length>>16), byte(length>>8), byte(length))
			c.out.Write(head)
			io.Copy(c.out, spaces(int64(length)))
			c.out.Write([]byte{0, 0})
			if err := c.send(&pgproto3.Execute{Portal: name, MaxRows: 1}, &pgproto3.Sync{}); err != nil {
				return c.refused(a.tally, err)
			}
			if err := c.ready(a.tally); err != nil {
				return err
			}
		}
		a.wait(ctx)
		return c.ask(a.tally, "ROLLBACK")
	})
}

// leaveUnfinished sends messages without their last byte.
func leaveUnfinished(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		kind := []byte("QPB")[a.number%3]
		if err := c.begin(kind, a.times); err != nil {
			return err
		}
		_, err := io.Copy(c.out, spaces(int64(a.times-1)))
		if err = errors.Join(err, c.out.Flush()); err != nil {
			return c.refused(a.tally, err)
		}
		a.wait(ctx)
		return nil // and goes away
	})
}

// describeMany asks for descriptions that it does not read, for as long as the node takes questions.
func describeMany(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		var columns []string
		for i := range 100 {
			columns = append(columns, fmt.Sprintf("i + %d AS a_column_with_a_long_name_%d", i, i))
		}
		parse := &pgproto3.Parse{Name: "wide", Query: "SELECT " + strings.Join(columns, ", ") + " FROM words"}
		if err := c.send(parse, &pgproto3.Sync{}); err != nil {
			return err
		}
		refused := newTally()
		if err := c.ready(refused); err != nil || len(refused.states) > 0 {
			return errors.Join(err, wrongOf(refused))
		}
		sent := make(chan error, 1)
		go func() {
			for range a.times {
				if err := c.put(&pgproto3.Describe{ObjectType: 'S', Name: "wide"}); err != nil {
					sent <- err
					return
				}
			}
			sent <- c.out.Flush()
		}()
		a.wait(ctx)
		c.Close() // which ends the other goroutine's writing
		<-sent
		return nil
	})
}

func wrongOf(t *tally) error {
	if wrong := t.wrong(); len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return nil
}

// readNothing asks for much and reads nothing.
func readNothing(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		sql := []string{
			fmt.Sprintf("SELECT repeat('x', 1000000) FROM range(%d)", a.times),
			fmt.Sprintf("SELECT * FROM words, range(%d)", a.times),
			fmt.Sprintf("SELECT repeat('x', 10000), * FROM range(%d) r(i) ORDER BY i DESC", a.times),
			fmt.Sprintf("SELECT list(i) OVER () FROM range(10000) r(i), range(%d)", a.times),
		}[a.number%4]
		if err := c.send(&pgproto3.Query{String: sql}); err != nil {
			return err
		}
		a.wait(ctx)
		return nil
	})
}

// insertLong sends texts of a megabyte whose trees take a hundred times as much.
func insertLong(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		if refused, err := c.wasRefused(a.tally, "CREATE TABLE IF NOT EXISTS "+a.table()+" (a int, b int, c text)"); refused || err != nil {
			return err
		}
		for i := 0; i < a.times && ctx.Err() == nil; i++ {
			sql := "INSERT INTO " + a.table() + " VALUES (1,2,'x')" + strings.Repeat(",(1,2,'x')", []int{10_000, 50_000, 100_000}[(i+a.number)%3])
			if err := c.ask(a.tally, sql); err != nil {
				return err
			}
		}
		return c.ask(a.tally, "DROP TABLE "+a.table())
	})
}

// selectLong does it with expressions, and without a table.
func selectLong(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		for i := 0; i < a.times && ctx.Err() == nil; i++ {
			var sql string
			switch (i + a.number) % 4 {
			case 0:
				sql = "SELECT count(*) FROM words WHERE i IN (1" + strings.Repeat(",2", 100_000) + ")"
			case 1:
				sql = "SELECT 1" + strings.Repeat(",1", 400_000)
			case 2:
				sql = "SELECT [1" + strings.Repeat(",[1]", 100_000) + "]"
			case 3:
				sql = strings.Repeat("SELECT 1;", 3_000)
			}
			if err := c.ask(a.tally, sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// makeVersions makes versions of a table, and keeps each of them by a snapshot.
func makeVersions(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		if refused, err := c.wasRefused(a.tally, "CREATE TABLE IF NOT EXISTS "+a.table()+" (i int, v text)"); refused || err != nil {
			return err
		}
		for i := 0; i < a.times && ctx.Err() == nil; i++ {
			if err := c.ask(a.tally, fmt.Sprintf("INSERT INTO %s VALUES (%d, 'v')", a.table(), i)); err != nil {
				return err
			}
			if i%10 == 0 {
				if err := c.ask(a.tally, "SELECT count(*), min(v) FROM "+a.table()+" WHERE i = 3"); err != nil {
					return err
				}
			}
		}
		if err := c.ask(a.tally, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM "+a.table()); err != nil {
			return err
		}
		a.wait(ctx)
		return c.ask(a.tally, "ROLLBACK; DROP TABLE "+a.table())
	})
}

// makeNotices has a statement say as much as it can, and does not read it.
func makeNotices(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		var names []string
		for i := range 300 {
			names = append(names, fmt.Sprintf("no_such_table_%d_%s", i, strings.Repeat("x", 1000)))
		}
		for i := 0; i < a.times && ctx.Err() == nil; i++ {
			if err := c.put(&pgproto3.Query{String: "DROP TABLE IF EXISTS " + strings.Join(names, ", ")}); err != nil {
				return err
			}
		}
		sent := make(chan error, 1)
		go func() { sent <- c.out.Flush() }()
		a.wait(ctx)
		c.Close()
		<-sent
		return nil
	})
}

// makeSavepoints makes savepoints and settings within one transaction.
func makeSavepoints(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		if err := c.ask(a.tally, "BEGIN"); err != nil {
			return err
		}
		const together = 100
		for i := 0; i < a.times && ctx.Err() == nil; i += together {
			var sql strings.Builder
			for k := range together {
				fmt.Fprintf(&sql, "SAVEPOINT %s_%d;", strings.Repeat("s", 50), i+k)
			}
			if err := c.ask(a.tally, sql.String()); err != nil {
				return err
			}
		}
		a.wait(ctx)
		return c.ask(a.tally, "ROLLBACK")
	})
}

// changeBetweenSavepoints has a transaction keep which rows of a long chunk were there at each of many savepoints, and
// makes a table after each.
func changeBetweenSavepoints(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		made, err := c.wasRefused(a.tally, "CREATE TABLE "+a.table()+" AS SELECT i::int AS i FROM range(1000000) r(i)")
		if made || err != nil {
			return err
		}
		if err := c.ask(a.tally, "BEGIN"); err != nil {
			return err
		}
		for i := 0; i < a.times && ctx.Err() == nil; i++ {
			const sql = "SAVEPOINT s%d; DELETE FROM %s WHERE i = %d; CREATE TABLE %[2]s_%[3]d (a int DEFAULT 5, b text)"
			refused, err := c.wasRefused(a.tally, fmt.Sprintf(sql, i, a.table(), i))
			if err != nil {
				return err
			}
			if refused {
				break
			}
		}
		a.wait(ctx)
		return c.ask(a.tally, "ROLLBACK; DROP TABLE "+a.table())
	})
}

// repeatedText is a query with a long text in each row.
var repeatedText = "SELECT i, word, '" + strings.Repeat("x", 10_000) + "' FROM words LIMIT 2000"

// openCursors declares cursors for a query, and fetches a row from each.
func openCursors(query string) func(ctx context.Context, n *target, a attacker) error {
	return func(ctx context.Context, n *target, a attacker) error {
		return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error { return declareAll(ctx, c, a, query) })
	}
}

func declareAll(ctx context.Context, c *client, a attacker, query string) error {
	if err := c.ask(a.tally, "BEGIN"); err != nil {
		return err
	}
	saved := false
	for i := 0; i < a.times && ctx.Err() == nil; i++ {
		sql := fmt.Sprintf("SAVEPOINT one; DECLARE c%d CURSOR FOR %s; FETCH 1 FROM c%d", i, query, i)
		refused, err := c.wasRefused(a.tally, sql)
		switch {
		case err != nil:
			return err
		case !refused:
			saved = true
		case saved:
			err = c.ask(a.tally, "ROLLBACK TO one")
		default: // the savepoint may have been what was refused
			err = errors.Join(c.ask(a.tally, "ROLLBACK"), c.ask(a.tally, "BEGIN"))
		}
		if err != nil {
			return err
		}
	}
	a.wait(ctx)
	return c.ask(a.tally, "ROLLBACK")
}

// setLong keeps long values in settings and savepoints.
func setLong(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		if err := c.ask(a.tally, "BEGIN"); err != nil {
			return err
		}
		for i := 0; i < a.times && ctx.Err() == nil; i++ {
			name := []string{"application_name", "search_path", "my.own" + fmt.Sprint(i)}[i%3]
			sql := fmt.Sprintf("SAVEPOINT s%d; SET %s = '%s%d'", i, name, strings.Repeat("x", 900_000), i)
			refused, err := c.wasRefused(a.tally, sql)
			if err != nil {
				return err
			}
			if refused {
				if err := c.ask(newTally(), "ROLLBACK"); err != nil {
					return err
				}
				if err := c.ask(a.tally, "BEGIN"); err != nil {
					return err
				}
			}
		}
		a.wait(ctx)
		return c.ask(a.tally, "ROLLBACK")
	})
}

// parkResults leaves portals open whose rows stand in the way of the next.
func parkResults(ctx context.Context, n *target, a attacker) error {
	return a.each(ctx, n, func(ctx context.Context, c *client, a attacker) error {
		if err := c.ask(a.tally, "BEGIN"); err != nil {
			return err
		}
		for i := 0; i < a.times && ctx.Err() == nil; i++ {
			name := fmt.Sprintf("p%d", i)
			if err := c.send(&pgproto3.Parse{Query: "SELECT repeat('x', 10000 + i) FROM range(100000) r(i)"},
				&pgproto3.Bind{DestinationPortal: name}, &pgproto3.Execute{Portal: name, MaxRows: 1}, &pgproto3.Sync{}); err != nil {
				return err
			}
			if err := c.ready(a.tally); err != nil {
				return err
			}
		}
		a.wait(ctx)
		return c.ask(a.tally, "ROLLBACK")
	})
}
