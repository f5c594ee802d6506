package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// A bank moves money between accounts that lie in several tables, from several sessions at once. Whatever happens:
//
//   - the sum over all tables is the same in every snapshot (E1),
//   - a block sees the same twice (E1),
//   - a refused commit is 40001, or a refused statement 40P01, and left nothing (E4),
//   - no acknowledged transfer is lost: in the end every account has what a serial replay of the acknowledged ones gives.
type bank struct {
	t      *testing.T
	e      *engine.Engine
	seed   uint64
	mu     sync.Mutex
	moved  [bankTables][bankAccounts]int64 // by acknowledged transfers; guarded by mu
	acked  atomic.Int64
	beaten atomic.Int64
	failed atomic.Pointer[string]
}

const (
	bankTables   = 3
	bankAccounts = 20
	bankStart    = 1000
	bankTotal    = bankTables * bankAccounts * bankStart
)

func (b *bank) fail(format string, args ...any) {
	text := fmt.Sprintf("seed %d: ", b.seed) + fmt.Sprintf(format, args...)
	b.failed.CompareAndSwap(nil, &text)
}

// exec is true when the statement succeeded; 40001 and 40P01 are fair answers.
func (b *bank) exec(s *engine.Session, sql string) bool {
	_, err := s.Exec(context.Background(), sql)
	if err == nil {
		return true
	}
	if state := sqlState(err); state != "40001" && state != "40P01" {
		b.fail("%s: %s %v", sql, state, err)
	}
	b.beaten.Add(1)
	_, _ = s.Exec(context.Background(), "ROLLBACK") // without a block it is only a warning
	return false
}

// transfer between two accounts of one or two tables, in one block.
func (b *bank) transfer(s *engine.Session, r *rand.Rand) {
	from, to, amount := r.IntN(bankTables), r.IntN(bankTables), r.Int64N(50)
	payer, payee := r.IntN(bankAccounts), r.IntN(bankAccounts)
	ok := b.exec(s, "BEGIN") &&
		b.exec(s, fmt.Sprintf("UPDATE bank%d SET balance = balance - %d WHERE id = %d", from, amount, payer)) &&
		b.exec(s, fmt.Sprintf("UPDATE bank%d SET balance = balance + %d WHERE id = %d", to, amount, payee))
	if ok && r.IntN(8) == 0 {
		b.exec(s, "ROLLBACK")
		return
	}
	if ok && b.exec(s, "COMMIT") {
		b.mu.Lock()
		b.moved[from][payer] -= amount
		b.moved[to][payee] += amount
		b.mu.Unlock()
		b.acked.Add(1)
	}
}

// rewrite does what changes no balance: everything deleted and put back, a table recreated, renamed twice.
func (b *bank) rewrite(s *engine.Session, r *rand.Rand) {
	table := fmt.Sprintf("bank%d", r.IntN(bankTables))
	var list []string
	switch r.IntN(4) {
	case 0:
		list = []string{"CREATE OR REPLACE TABLE " + table + " AS SELECT * FROM " + table}
	case 1:
		list = []string{"CREATE TABLE copy_of_it AS SELECT * FROM " + table, "TRUNCATE " + table, "INSERT INTO " + table + " SELECT * FROM copy_of_it", "DROP TABLE copy_of_it"}
	case 2:
		list = []string{"ALTER TABLE " + table + " RENAME TO away", "CREATE TABLE " + table + " AS SELECT * FROM away", "DROP TABLE away"}
	case 3:
		list = []string{"INSERT INTO " + table + " SELECT 1000, 7", "DELETE FROM " + table + " WHERE id = 1000"}
	}
	if !b.exec(s, "BEGIN") {
		return
	}
	for _, sql := range list {
		if !b.exec(s, sql) {
			return
		}
	}
	b.exec(s, "COMMIT")
}

const bankSum = "SELECT sum(balance), count(*) FROM (FROM bank0 UNION ALL FROM bank1 UNION ALL FROM bank2)"

// audit looks twice in one block, with other work between.
func (b *bank) audit(s *engine.Session) {
	if !b.exec(s, "BEGIN ISOLATION LEVEL REPEATABLE READ") {
		return
	}
	want := fmt.Sprintf("%d|%d", bankTotal, bankTables*bankAccounts)
	detail := "SELECT id, balance FROM bank0 ORDER BY id"
	before, err := tryRows(s, detail)
	for range 2 {
		found, err := tryRows(s, bankSum)
		if err != nil || found[0] != want {
			b.fail("the sum is %v, it must be %s: %v", found, want, err)
		}
	}
	after, again := tryRows(s, detail)
	if err != nil || again != nil || strings.Join(before, ";") != strings.Join(after, ";") {
		b.fail("a block saw %v and then %v: %v %v", before, after, err, again)
	}
	b.exec(s, "COMMIT")
}

func (b *bank) session(number uint64, until time.Time) {
	s, err := b.e.Session(engine.SessionOptions{})
	if err != nil {
		b.fail("%v", err)
		return
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(b.seed, number))
	goesOn := func() bool { // on a busy machine until one transfer is done
		now := time.Now()
		return now.Before(until) || b.acked.Load() == 0 && now.Before(until.Add(time.Minute))
	}
	for b.failed.Load() == nil && goesOn() {
		switch k := r.IntN(10); {
		case k < 6:
			b.transfer(s, r)
		case k < 8:
			b.rewrite(s, r)
		default:
			b.audit(s)
		}
	}
}

// TestBank attacks snapshot isolation from eight sessions.
func TestBank(t *testing.T) {
	t.Parallel()
	b := &bank{t: t, seed: uint64(time.Now().UnixNano())}
	b.e = open(t, func(c *engine.Config) { c.Log = slog.New(slog.DiscardHandler) })
	s := session(t, b.e)
	for i := range bankTables {
		exec(t, s, fmt.Sprintf("CREATE TABLE bank%d AS SELECT i::int AS id, %d::bigint AS balance FROM range(%d) r(i)", i, bankStart, bankAccounts))
	}
	var group sync.WaitGroup
	until := time.Now().Add(time.Duration(3*testsuite.Effort()) * time.Second)
	for number := range 8 {
		group.Go(func() { b.session(uint64(number), until) })
	}
	group.Wait()
	if text := b.failed.Load(); text != nil {
		require.Fail(t, *text)
	}
	for table := range bankTables {
		for _, line := range rows(t, s, fmt.Sprintf("SELECT id, balance FROM bank%d ORDER BY id", table)) {
			id, balance, _ := strings.Cut(line, "|")
			account, err := strconv.Atoi(id)
			require.NoError(t, err)
			require.Equal(t, strconv.FormatInt(bankStart+b.moved[table][account], 10), balance, "seed %d: account %d of bank%d: an update was lost or done twice", b.seed, account, table)
		}
	}
	require.NoError(t, b.e.CheckSpace(context.Background()))
	require.NoError(t, b.e.VerifyChecksums(context.Background()))
	require.Positive(t, b.acked.Load())
	t.Logf("%d transfers, %d conflicts", b.acked.Load(), b.beaten.Load())
}

// TestReadersDoNotWait: a statement that reads keeps its snapshot while everything under it is replaced, and no writer
// waits for it.
func TestReadersDoNotWait(t *testing.T) {
	t.Parallel()
	e := open(t)
	reader, writer := session(t, e), session(t, e)
	exec(t, writer, tagged("t", 1, 300_000))
	for _, backend := range []string{"duckdb", "compute"} {
		exec(t, reader, "SET csm.backend = "+backend)
		exec(t, writer, tagged("t", 1, 300_000))
		r, err := reader.Query(context.Background(), "SELECT tag, i, mixed, body, label FROM t")
		require.NoError(t, err)
		require.True(t, r.Next())
		for tag := 2; tag < 5; tag++ {
			exec(t, writer, tagged("t", tag, 300_000))
		}
		n, err := sameTag(r)
		require.NoError(t, err)
		require.NoError(t, r.Err())
		require.Equal(t, 300_000, n)
		r.Release()
	}
	exec(t, writer, "DROP TABLE t")
	require.NoError(t, e.CheckSpace(context.Background()))
	require.Zero(t, e.RegionStats().Used)
}
