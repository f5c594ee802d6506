package abusetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/cgroup"
)

// variable is the environment variable for how long TestAbuse goes on, and that has TestAttacks do their worst.
const variable = "CSMSQL_ABUSE"

const (
	smallMemory, smallRegion = 128 << 20, 256 << 20
	fullMemory, fullRegion   = 512 << 20, 1 << 30
)

// words is the table that attacks and the client that behaves ask.
const words = "CREATE TABLE words AS SELECT i::int AS i, 'v' || i AS word FROM range(100000) r(i)"

// held is what the attackers make the node keep, by csm.memory.
const held = "SELECT coalesce(sum(bytes), 0)::bigint FROM csm.memory WHERE \"user\" = 'abuser'"

// A node in a control group of exactly the memory that its help asks for survives each attack alone, and gives the
// memory of the attack back.
func TestAttacks(t *testing.T) {
	full := os.Getenv(variable) != ""
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			memory, region := int64(smallMemory), int64(smallRegion)
			if full {
				memory, region = fullMemory, fullRegion
			}
			n := start(t, memory, region)
			attacker := attacker{size: a.small, number: 1, tally: newTally(), hold: 500 * time.Millisecond, longest: 7_000_000}
			if full {
				attacker.size, attacker.hold, attacker.longest = a.full, 5*time.Second, 30_000_000
			}
			conn := n.connect()
			_, err := conn.Exec(t.Context(), words)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 20*patience)
			defer cancel()
			err = a.play(ctx, &n.target, attacker)
			n.report(attacker.tally.String())
			require.True(t, n.alive(), "the node ended: %s", n.output.String())
			require.NoError(t, err)
			require.Empty(t, attacker.tally.wrong())
			n.awaitRelease(conn)
			var count, sum int64
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*), sum(i) FROM words").Scan(&count, &sum))
			require.EqualValues(t, []int64{100000, 4999950000}, []int64{count, sum})
		})
	}
}

// All attacks at once, by ninety sessions, beside a client that behaves: its answers are right, it gets no errors of
// other clients, and when they are gone their memory is free again. How long it waited is logged beside how long it
// waits when it is quiet.
func TestAbuse(t *testing.T) {
	given := os.Getenv(variable)
	if given == "" {
		t.Skip("it is for make abuse: ", variable, " says for how long")
	}
	duration, err := time.ParseDuration(given)
	require.NoError(t, err)
	memory, region := int64(smallMemory), int64(smallRegion)
	if duration > time.Minute {
		memory, region = fullMemory, fullRegion
	}
	n := start(t, memory, region)
	_, err = n.connect().Exec(t.Context(), words)
	require.NoError(t, err)
	good := newCustomer(n)
	part := min(duration/5, 10*time.Second)
	good.serveUntil(t.Context(), time.Now().Add(part))
	quiet := good.since()
	busy := n.attackers(order{Busy: runtime.NumCPU(), For: patience})
	good.serveUntil(t.Context(), time.Now().Add(part))
	control := good.since()
	_, ofControl := busy.end(t)
	fresh, err := n.group.Usage()
	require.NoError(t, err)

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	first := n.attackers(order{Seed: seed + 1, For: duration})
	good.serveUntil(t.Context(), time.Now().Add(duration))
	first.end(t)
	n.cleanUp(t)
	before := n.least(good, func(least cgroup.Usage, since time.Duration) bool { return since > patience/2 })
	good.since()
	bad := n.attackers(order{Seed: seed, For: duration})
	good.serveUntil(t.Context(), time.Now().Add(duration))
	out, ofAttackers := bad.end(t)
	noisy := good.since()
	require.True(t, n.alive(), "the node ended: %s", n.output.String())
	for _, a := range attacks {
		t.Logf("%s: %v", a.name, out.Tallies[a.name])
	}
	t.Logf("the client that behaves, quiet: %v", quiet)
	t.Logf("beside loops that use %.1f processors: %v: p99 %.1f times as long as quiet", ofControl, control, control.p99.Seconds()/quiet.p99.Seconds())
	t.Logf("beside attackers, whose own part uses %.1f processors: %v: p99 %.1f times as long as quiet, %.1f times as long as beside the loops",
		ofAttackers, noisy, noisy.p99.Seconds()/quiet.p99.Seconds(), noisy.p99.Seconds()/control.p99.Seconds())
	n.report("all attacks at once")
	require.Empty(t, out.Failures)
	require.Empty(t, out.Wrong)
	require.NotZero(t, noisy.answered)

	n.cleanUp(t)
	begun := time.Now()
	after := n.least(good, func(least cgroup.Usage, since time.Duration) bool {
		return least.Held() <= before.Held()+before.Held()/10 || since > patience
	})
	t.Logf("%d MiB were held at first, %d once that had been used, %d %v afterwards", fresh.Held()>>20, before.Held()>>20, after.Held()>>20, time.Since(begun).Round(time.Second))
	require.LessOrEqual(t, after.Held(), before.Held()+before.Held()/10, "what is held was %+v, and is %+v afterwards", before, after)
}

// least is the least that is held while the customer goes on, until that is enough.
func (n *node) least(good *customer, enough func(least cgroup.Usage, since time.Duration) bool) (least cgroup.Usage) {
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		good.serveUntil(n.t.Context(), time.Now())
		u, err := n.group.Usage()
		require.NoError(n.t, err)
		if least.Held() == 0 || u.Held() < least.Held() {
			least = u
		}
		if enough(least, time.Since(begun)) {
			return least
		}
	}
}

// awaitRelease returns when clients have given back their memory. Until then conn may get errors that there is none, as
// a customer may (AB4).
func (n *node) awaitRelease(conn *pgx.Conn) {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var bytes int64
		err := conn.QueryRow(n.t.Context(), held).Scan(&bytes)
		if !isOutOfMemory(err) {
			require.NoError(n.t, err)
		}
		if err == nil && bytes == 0 {
			return
		}
		require.True(n.t, time.Now().Before(end), "what the clients had is given back: %d bytes are not (%v)", bytes, err)
	}
}

func isOutOfMemory(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "53200"
}

// cleanUp drops what attackers that were interrupted have left, once they are gone.
func (n *node) cleanUp(t *testing.T) {
	conn := n.connect()
	defer conn.Close(context.Background())
	n.awaitRelease(conn)
	rows, err := conn.Query(t.Context(), "SELECT tablename FROM pg_tables WHERE tablename LIKE 'abused%'")
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, name := range names {
		_, err := conn.Exec(t.Context(), "DROP TABLE "+name)
		require.NoError(t, err)
	}
}

// customer is a client that behaves: it asks small questions whose answers it knows.
type customer struct {
	n        *node
	conn     *pgx.Conn
	waits    []time.Duration
	refusals int
}

func newCustomer(n *node) *customer { return &customer{n: n, conn: n.connect()} }

// serveUntil asks again and again, at least once. The error that there is no memory just now is allowed; anything else
// that is not the answer is wrong.
func (c *customer) serveUntil(ctx context.Context, end time.Time) {
	t := c.n.t
	for k := 0; ; k++ {
		begun := time.Now()
		var count, sum int64
		limit := k % 1000
		err := c.conn.QueryRow(ctx, "SELECT count(*), coalesce(sum(i), 0) FROM words WHERE i < $1", limit).Scan(&count, &sum)
		if ctx.Err() != nil {
			return
		}
		switch {
		case isOutOfMemory(err):
			c.refusals++
		default:
			require.NoError(t, err, "%s", c.n.output.String())
			require.EqualValues(t, []int64{int64(limit), int64(limit*(limit-1)) / 2}, []int64{count, sum})
			c.waits = append(c.waits, time.Since(begun))
		}
		if !time.Now().Before(end) {
			return
		}
		time.Sleep(time.Millisecond) // it thinks
	}
}

// service is how a customer was served.
type service struct {
	answered, refused int
	p50, p99, most    time.Duration
}

func (s service) String() string {
	return fmt.Sprintf("%d answers, p50 %v, p99 %v, at most %v, %d times no memory", s.answered, s.p50, s.p99, s.most, s.refused)
}

// since is how it was served since it was asked last.
func (c *customer) since() service {
	slices.Sort(c.waits)
	s := service{answered: len(c.waits), refused: c.refusals}
	if s.answered > 0 {
		at := func(part float64) time.Duration {
			return c.waits[int(part*float64(s.answered-1))].Round(10 * time.Microsecond)
		}
		s.p50, s.p99, s.most = at(0.5), at(0.99), at(1)
	}
	c.waits, c.refusals = nil, 0
	return s
}
