package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A history is a sequence of transactions that is known beforehand: transaction n is a function of the seed and n alone. So
// the tables found after a crash show which transaction they are at, and whether they are at exactly one.
//
// Every transaction does the same to the tables "left" and "right", and writes its number into "marker". A row says what it
// must be: its text and its checksum follow from (n, i).
type history struct {
	seed uint64
	// rows of left, and of right, as the model has them: (n, i) and how often.
	rows []historyRow
	done int64
}

type historyRow struct{ n, i int64 }

// summary is what is compared of a table.
type summary struct{ Rows, SumI, SumN, SumMixed int64 }

func (s summary) String() string {
	return fmt.Sprintf("%d|%d|%d|%d", s.Rows, s.SumI, s.SumN, s.SumMixed)
}

// summaryQuery gives a summary of a table, and the number of rows that contradict themselves.
func summaryQuery(table string) string {
	return `SELECT count(*), coalesce(sum(i), 0)::bigint, coalesce(sum(n), 0)::bigint, coalesce(sum((i * 31 + n * 17) % 1000003), 0)::bigint,
		count(*) FILTER (WHERE mixed <> i * 31 + n * 17 OR label <> CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END OR body <> 'row ' || i || ' of transaction ' || n)
		FROM ` + table
}

// rowsOf selects the rows that transaction n makes for i from first to last.
func rowsOf(n, first, last int64) string {
	return fmt.Sprintf(`SELECT %d::bigint AS n, i::bigint AS i, (i * 31 + %d)::bigint AS mixed, '%s'::varchar AS label, 'row ' || i || ' of transaction %d' AS body FROM range(%d, %d) r(i)`,
		n, n*17, []string{"even", "odd"}[n%2], n, first, last)
}

// step is what transaction n does.
type step struct {
	kind        string
	n           int64
	first, last int64
}

func (h *history) step(n int64) step {
	r := rand.New(rand.NewPCG(h.seed, uint64(n)))
	s := step{n: n, first: r.Int64N(1000)}
	s.last = s.first + 1 + r.Int64N(2500)
	switch k := r.IntN(100); {
	case n == 1:
		s.kind = "create"
	case n%24 == 0:
		s.kind = "truncate"
	case n%31 == 0:
		s.kind, s.last = "insert", s.first+260_000 // more than one chunk
	case k < 30:
		s.kind = "insert"
	case k < 40:
		s.kind, s.last = "values", s.first+1+r.Int64N(3)
	case k < 60:
		s.kind = "update"
	case k < 75:
		s.kind = "delete"
	case k < 90:
		s.kind = "recreate"
	default:
		s.kind = "drop"
	}
	return s
}

// statements of the transaction, without BEGIN and COMMIT.
func (s step) statements() []string {
	var out []string
	for _, table := range []string{"left_rows", "right_rows"} {
		switch s.kind {
		case "create":
			out = append(out, "CREATE TABLE "+table+" AS "+rowsOf(s.n, s.first, s.last))
		case "truncate":
			out = append(out, "TRUNCATE "+table, "INSERT INTO "+table+" "+rowsOf(s.n, s.first, s.last))
		case "insert":
			out = append(out, "INSERT INTO "+table+" "+rowsOf(s.n, s.first, s.last))
		case "values":
			out = append(out, "INSERT INTO "+table+" VALUES "+s.values())
		case "update":
			out = append(out, fmt.Sprintf("UPDATE %s SET n = %d, mixed = i * 31 + %d, label = '%s', body = 'row ' || i || ' of transaction %d' WHERE i %% 5 = %d",
				table, s.n, s.n*17, []string{"even", "odd"}[s.n%2], s.n, s.n%5))
		case "delete":
			out = append(out, fmt.Sprintf("DELETE FROM %s WHERE i %% 4 = %d", table, s.n%4))
		case "recreate":
			out = append(out, fmt.Sprintf("CREATE OR REPLACE TABLE %s AS SELECT * FROM %s WHERE i %% 3 <> %d", table, table, s.n%3))
		case "drop":
			out = append(out, "DROP TABLE "+table, "CREATE TABLE "+table+" AS "+rowsOf(s.n, s.first, s.last))
		}
	}
	return append(out, fmt.Sprintf("CREATE OR REPLACE TABLE marker AS SELECT %d::bigint AS n", s.n))
}

func (s step) values() string {
	var list []string
	for i := s.first; i < s.last; i++ {
		list = append(list, fmt.Sprintf("(%d, %d, %d, '%s', 'row %d of transaction %d')", s.n, i, i*31+s.n*17, []string{"even", "odd"}[s.n%2], i, s.n))
	}
	return strings.Join(list, ", ")
}

// advance does the next transaction to the model.
func (h *history) advance() {
	h.done++
	s := h.step(h.done)
	kept := h.rows[:0]
	for _, r := range h.rows {
		switch s.kind {
		case "truncate", "drop":
			continue
		case "update":
			if r.i%5 == s.n%5 {
				r.n = s.n
			}
		case "delete":
			if r.i%4 == s.n%4 {
				continue
			}
		case "recreate":
			if r.i%3 == s.n%3 {
				continue
			}
		}
		kept = append(kept, r)
	}
	h.rows = kept
	if s.kind != "update" && s.kind != "delete" && s.kind != "recreate" {
		for i := s.first; i < s.last; i++ {
			h.rows = append(h.rows, historyRow{s.n, i})
		}
	}
}

func (h *history) summary() (s summary) {
	for _, r := range h.rows {
		s.Rows++
		s.SumI += r.i
		s.SumN += r.n
		s.SumMixed += (r.i*31 + r.n*17) % 1000003
	}
	return s
}
