package refreshing

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/queries/dbgen"
)

// createTable makes the table in which transactions leave their numbers.
const createTable = "CREATE TABLE refreshes (done bigint NOT NULL)"

// done asks which transactions a snapshot has: all before the number that it gives, which is also their count.
const done = "SELECT coalesce(max(done), -1) + 1, count(*) FROM refreshes"

// Transaction is what a client sends between BEGIN and COMMIT.
type Transaction struct {
	// Inserts: it is of RF1, not of RF2.
	Inserts bool
	// Changes are the statements that change orders and lineitem.
	Changes []string
	// Count leaves the transaction's number in refreshes.
	Count string
}

// Source gives the transactions of all pairs. Several goroutines may use it.
type Source struct {
	generator *dbgen.Generator
	orders    int64 // of a transaction

	mu    sync.Mutex
	pairs map[int64][]Transaction // guarded by mu; that were made and not forgotten, by set
}

// NewSource is for transactions of at most so many orders.
func NewSource(g *dbgen.Generator, orders int64) *Source {
	return &Source{generator: g, orders: orders, pairs: map[int64][]Transaction{}}
}

// Orders returns how many orders a pair inserts, and deletes.
func (s *Source) Orders() int64 { return s.generator.RefreshOrders() }

// PerPair returns how many transactions a pair has.
func (s *Source) PerPair() int64 { return 2 * ((s.Orders() + s.orders - 1) / s.orders) }

// Transaction gives the transaction of a number. Errors are those of dbgen's sets: there are 1,000 pairs.
func (s *Source) Transaction(ctx context.Context, number int64) (Transaction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := number / s.PerPair()
	if s.pairs[set] == nil {
		pair, err := s.make(ctx, set)
		if err != nil {
			return Transaction{}, err
		}
		s.pairs[set] = pair
	}
	return s.pairs[set][number%s.PerPair()], nil
}

// Prepare makes the pairs from the transaction of a number on, so that no stream waits for them (RS2), and forgets
// those before.
func (s *Source) Prepare(ctx context.Context, number, pairs int64) error {
	first := number / s.PerPair()
	s.mu.Lock()
	for set := range s.pairs {
		if set < first {
			delete(s.pairs, set)
		}
	}
	s.mu.Unlock()
	for set := first; set < min(first+pairs+1, dbgen.RefreshSets); set++ {
		if _, err := s.Transaction(ctx, set*s.PerPair()); err != nil {
			return err
		}
	}
	return nil
}

// make writes the texts of a pair.
func (s *Source) make(ctx context.Context, set int64) ([]Transaction, error) {
	orders, err := s.generator.InsertSet(ctx, memory.DefaultAllocator, dbgen.Orders, set)
	if err != nil {
		return nil, err
	}
	defer orders.Release()
	lines, err := s.generator.InsertSet(ctx, memory.DefaultAllocator, dbgen.LineItem, set)
	if err != nil {
		return nil, err
	}
	defer lines.Release()
	deleted, err := s.generator.DeleteSet(set)
	if err != nil {
		return nil, err
	}
	pair := make([]Transaction, 0, s.PerPair())
	add := func(t Transaction) {
		t.Count = fmt.Sprintf("INSERT INTO refreshes VALUES (%d)", set*s.PerPair()+int64(len(pair)))
		pair = append(pair, t)
	}
	keys, lineKeys := int64Values(orders), int64Values(lines)
	line := 0
	for first := 0; first < len(keys); first += int(s.orders) {
		last := min(first+int(s.orders), len(keys))
		firstLine := line
		for line < len(lineKeys) && lineKeys[line] <= keys[last-1] {
			line++
		}
		add(Transaction{Inserts: true, Changes: []string{
			insert(dbgen.Orders, orders, first, last), insert(dbgen.LineItem, lines, firstLine, line)}})
	}
	for first := 0; first < len(deleted); first += int(s.orders) {
		list := keyList(deleted[first:min(first+int(s.orders), len(deleted))])
		add(Transaction{Changes: []string{
			"DELETE FROM lineitem WHERE l_orderkey IN (" + list + ")",
			"DELETE FROM orders WHERE o_orderkey IN (" + list + ")"}})
	}
	return pair, nil
}

// int64Values are the keys of orders, the first column of either table.
func int64Values(batch arrow.RecordBatch) []int64 {
	return batch.Column(0).(*array.Int64).Int64Values()
}

// insert writes rows [first, last) as an INSERT.
func insert(table dbgen.Table, batch arrow.RecordBatch, first, last int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO %s VALUES ", table)
	types := dbgen.Schema(table).Fields()
	for i := first; i < last; i++ {
		separator := "("
		if i > first {
			separator = ", ("
		}
		for c, column := range batch.Columns() {
			b.WriteString(separator)
			separator = ", "
			value := column.ValueStr(i)
			switch types[c].Type.ID() {
			case arrow.STRING, arrow.DATE32:
				b.WriteString("'" + strings.ReplaceAll(value, "'", "''") + "'")
			default:
				b.WriteString(value)
			}
		}
		b.WriteByte(')')
	}
	return b.String()
}

func keyList(keys []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(keys), " ", ", "), "[]")
}
