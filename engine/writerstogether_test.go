package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// TestWritersTogether: all kinds of writers at once, beside ALTER TABLE and VACUUM; what was reported to each is true.
func TestWritersTogether(t *testing.T) {
	t.Parallel()
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		newTogether(t, 60*testsuite.Effort(), func() *engine.Session { return session(t, e) }).run()
	})
	t.Run("three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		n := 0
		newTogether(t, 20*testsuite.Effort(), func() *engine.Session {
			n++
			return c.session(n % 3)
		}).run()
		c.requireSpace()
	})
}

const togetherAccounts = 100

// together are sessions that write to three tables, and what was reported to them.
type together struct {
	t           *testing.T
	session     func() *engine.Session
	rounds      int // of each session
	seed        uint64
	incremented [4]atomic.Int64
	logged      atomic.Int64
}

func newTogether(t *testing.T, rounds int, session func() *engine.Session) *together {
	s := session()
	exec(t, s, fmt.Sprintf("CREATE TABLE account AS SELECT i::int AS id, 0 AS balance FROM range(%d) r(i)", togetherAccounts))
	exec(t, s, "ALTER TABLE account ADD PRIMARY KEY (id); CREATE TABLE log (id text PRIMARY KEY, writer int)")
	exec(t, s, "CREATE TABLE counter (id int, n int, UNIQUE NULLS NOT DISTINCT (id))")
	exec(t, s, "INSERT INTO counter VALUES (0, 0), (1, 0), (2, 0), (NULL, 0)")
	exec(t, s, "CREATE VIEW total AS SELECT sum(balance) AS balance, count(*) AS accounts FROM account")
	return &together{t: t, session: session, rounds: rounds, seed: rand.Uint64()}
}

func (g *together) run() {
	g.t.Logf("seed %d", g.seed)
	writing, stop := context.WithCancel(g.t.Context())
	defer stop()
	var writers, others errgroup.Group
	start := func(in *errgroup.Group, number int, round func(s *engine.Session, r *rand.Rand) error) {
		s, r := g.session(), rand.New(rand.NewPCG(g.seed, uint64(number)))
		in.Go(func() error {
			for i := 0; in == &others || i < g.rounds; i++ {
				if in == &others && writing.Err() != nil {
					return nil
				}
				if err := round(s, r); err != nil {
					stop()
					return err
				}
			}
			return nil
		})
	}
	start(&writers, 0, g.transfer)
	start(&writers, 1, g.transfer)
	start(&writers, 2, g.increment)
	start(&writers, 3, g.increment)
	start(&writers, 4, g.logger(4))
	start(&writers, 5, g.logger(5))
	start(&others, 6, g.alter)
	start(&others, 7, g.read)
	err := writers.Wait()
	stop()
	require.NoError(g.t, others.Wait())
	require.NoError(g.t, err)

	s := g.session()
	require.Equal(g.t, []string{fmt.Sprintf("0|%d|%[1]d", togetherAccounts)},
		rows(g.t, s, "SELECT sum(balance), count(*), count(DISTINCT id) FROM account"))
	var want []string
	for i := range g.incremented {
		want = append(want, fmt.Sprint(g.incremented[i].Load()))
	}
	require.Equal(g.t, want, rows(g.t, s, "SELECT n FROM counter ORDER BY id NULLS LAST"))
	require.Equal(g.t, []string{fmt.Sprintf("%d|%[1]d", g.logged.Load())},
		rows(g.t, s, "SELECT count(*), count(DISTINCT id) FROM log"))
}

// transfer moves an amount from one account to another; the transaction may lose a race.
func (g *together) transfer(s *engine.Session, r *rand.Rand) error {
	amount := r.IntN(100)
	for _, text := range []string{
		"BEGIN", fmt.Sprintf("UPDATE account SET balance = balance - %d WHERE id = %d", amount, r.IntN(togetherAccounts)),
		"SAVEPOINT p", "UPDATE account SET balance = balance + 1000 WHERE id < 20", "ROLLBACK TO p",
		fmt.Sprintf("UPDATE account SET balance = balance + %d WHERE id = %d", amount, r.IntN(togetherAccounts)), "COMMIT",
	} {
		if _, err := s.Exec(g.t.Context(), text); err != nil {
			_, _ = s.Exec(g.t.Context(), "ROLLBACK")
			if state := stateOf(err); state == "40001" || state == "40P01" {
				return nil
			}
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// increment adds one to a counter that others increment, too: it is repeated until it has won.
func (g *together) increment(s *engine.Session, r *rand.Rand) error {
	k := r.IntN(4)
	text := fmt.Sprintf("UPDATE counter SET n = n + 1 WHERE id = %d", k)
	if k == 3 {
		text = "UPDATE counter SET n = n + 1 WHERE id IS NULL"
	}
	tag := "UPDATE 1"
	var err error
	if r.IntN(2) == 0 {
		tag, err = within(g.t.Context(), s, text)
	} else {
		_, err = s.Exec(g.t.Context(), text)
	}
	if err == nil && tag != "UPDATE 1" {
		err = fmt.Errorf("the command tag is %s", tag)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	g.incremented[k].Add(1)
	return nil
}

// logger inserts, deletes and renames rows of its own, and knows which there are: none of it may lose a race.
func (g *together) logger(number int) func(s *engine.Session, r *rand.Rand) error {
	there := map[string]bool{}
	return func(s *engine.Session, r *rand.Rand) error {
		id := fmt.Sprintf("%d-%d", number, r.IntN(150))
		text, duplicate, after := "", false, map[string]bool{}
		switch n := r.IntN(10); {
		case n < 6:
			text = fmt.Sprintf("INSERT INTO log (id, writer) VALUES ('%s', %d)", id, number)
			duplicate, after[id] = there[id], true
		case n < 8:
			text = fmt.Sprintf("DELETE FROM log WHERE id = '%s'", id)
			after[id] = false
		default:
			text = fmt.Sprintf("UPDATE log SET id = id || 'x' WHERE id = '%s'", id)
			if there[id] {
				duplicate, after[id], after[id+"x"] = there[id+"x"], false, true
			}
		}
		_, err := s.Exec(g.t.Context(), text)
		if duplicate != (stateOf(err) == "23505") || err != nil && !duplicate {
			return fmt.Errorf("%s, and that is a duplicate: %v: %w", text, duplicate, err)
		}
		if err != nil {
			return nil
		}
		for id, is := range after {
			if is && !there[id] {
				g.logged.Add(1)
			} else if !is && there[id] {
				g.logged.Add(-1)
			}
			there[id] = is
		}
		return nil
	}
}

// alter changes columns that no other writer names, and folds.
func (g *together) alter(s *engine.Session, r *rand.Rand) error {
	table, column := []string{"account", "log", "counter"}[r.IntN(3)], fmt.Sprint("c", r.IntN(3))
	text := []string{
		"ALTER TABLE " + table + " ADD COLUMN IF NOT EXISTS " + column + " int DEFAULT 7",
		"ALTER TABLE " + table + " ADD COLUMN IF NOT EXISTS " + column + " text NOT NULL DEFAULT 'x'",
		"ALTER TABLE " + table + " DROP COLUMN IF EXISTS " + column,
		"ALTER TABLE log ALTER writer TYPE bigint", "ALTER TABLE log ALTER writer TYPE int", "VACUUM " + table, "VACUUM",
	}[r.IntN(7)]
	if _, err := s.Exec(g.t.Context(), text); err != nil && stateOf(err) != "40001" {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// read sees one snapshot in a transaction, whatever is folded meanwhile.
func (g *together) read(s *engine.Session, _ *rand.Rand) error {
	exec(g.t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	defer exec(g.t, s, "COMMIT")
	first := ""
	for range 3 {
		got, err := tryRows(s, "SELECT sum(balance), count(*), count(DISTINCT id), (SELECT balance FROM total), "+
			"(SELECT accounts FROM total), (SELECT count(*) FROM log), (SELECT count(DISTINCT id) FROM log), "+
			"(SELECT sum(n) FROM counter) FROM account")
		if err != nil {
			return err
		}
		if !strings.HasPrefix(got[0], fmt.Sprintf("0|%d|%[1]d|0|%[1]d|", togetherAccounts)) || first != "" && got[0] != first {
			return fmt.Errorf("%s was read, before it %q", got[0], first)
		}
		first = got[0]
	}
	return nil
}
