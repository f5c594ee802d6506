package duckdb_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// byHand gives scans the filters that a planner could prove from a query's text: constants, and keys of one table's
// filtered rows for the next table. What it does is part of a query's time.
type byHand struct {
	testing.TB
	tables *tpchTables
	scans  map[string]*duckdb.Scan // by table, or by table and alias
}

// filter narrows an occurrence of a table; estimate is the number of rows for DuckDB's optimizer, 0: unknown.
func (h *byHand) filter(occurrence string, filters ...duckdb.Filter) *duckdb.Scan {
	table, _, _ := strings.Cut(occurrence, " ")
	s := *h.tables.scans[table]
	s.Filters = filters
	h.scans[occurrence] = &s
	return &s
}

func (h *byHand) keys(s *duckdb.Scan, column string) *duckdb.KeySet {
	k, err := duckdb.BuildKeySet(context.Background(), s, index(s, column), 4_000_000)
	require.NoError(h, err)
	s.Estimate = max(k.Rows(), 1)
	return k
}

// askKeys has DuckDB find keys, for conditions that a Filter cannot say.
func (h *byHand) askKeys(sql string) *duckdb.KeySet {
	var keys []int64
	for _, row := range h.tables.answer(h, splice(sql, func(_, table string) uint64 {
		return h.tables.c.Register(h.tables.scans[table])
	})) {
		k, err := strconv.ParseInt(row[0], 10, 64)
		require.NoError(h, err)
		keys = append(keys, k)
	}
	set, err := duckdb.NewKeySet(keys)
	require.NoError(h, err)
	return set
}

func index(s *duckdb.Scan, column string) int { return s.Schema.FieldIndices(column)[0] }

func (h *byHand) column(name string) int {
	tables := map[string]string{"r": "region", "n": "nation", "s": "supplier", "c": "customer", "p": "part", "ps": "partsupp", "o": "orders", "l": "lineitem"}
	prefix, _, _ := strings.Cut(name, "_")
	return index(h.tables.scans[tables[prefix]], name)
}

func days(day string) int64 {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err)
	}
	return t.Unix() / 86400
}

// dates: from first to before the day end; "" leaves an end open.
func (h *byHand) dates(column, first, end string) duckdb.Filter {
	f := duckdb.Filter{Column: h.column(column)}
	if first != "" {
		low := days(first)
		f.Low = &low
	}
	if end != "" {
		high := days(end) - 1
		f.High = &high
	}
	return f
}

func (h *byHand) between(column string, low, high int64) duckdb.Filter {
	return duckdb.Filter{Column: h.column(column), Low: &low, High: &high}
}

func (h *byHand) oneOf(column string, values ...string) duckdb.Filter {
	return h.keep(column, func(v string) bool { return slices.Contains(values, v) })
}

func (h *byHand) keep(column string, keep func(string) bool) duckdb.Filter {
	return duckdb.Filter{Column: h.column(column), Keep: keep}
}

func (h *byHand) in(column string, keys *duckdb.KeySet) duckdb.Filter {
	return duckdb.Filter{Column: h.column(column), Keys: keys}
}

// nations gives the keys of nations by name, or of a region.
func (h *byHand) nations(names ...string) *duckdb.KeySet {
	return h.keys(h.filter("nation", h.oneOf("n_name", names...)), "n_nationkey")
}

func (h *byHand) nationsOf(region string) *duckdb.KeySet {
	regions := h.keys(h.filter("region", h.oneOf("r_name", region)), "r_regionkey")
	return h.keys(h.filter("nation", h.in("n_regionkey", regions)), "n_nationkey")
}

func (h *byHand) suppliers(nations *duckdb.KeySet) *duckdb.KeySet {
	return h.keys(h.filter("supplier", h.in("s_nationkey", nations)), "s_suppkey")
}

var handPlans = []func(*byHand){
	func(h *byHand) { h.filter("lineitem", h.dates("l_shipdate", "", "1998-09-03")) },
	func(h *byHand) { // Q2
		suppliers := h.suppliers(h.nationsOf("EUROPE"))
		parts := h.keys(h.filter("part", h.between("p_size", 15, 15), h.keep("p_type", func(v string) bool { return strings.HasSuffix(v, "BRASS") })), "p_partkey")
		h.filter("partsupp", h.in("ps_partkey", parts), h.in("ps_suppkey", suppliers))
	},
	func(h *byHand) { // Q3
		customers := h.keys(h.filter("customer", h.oneOf("c_mktsegment", "BUILDING")), "c_custkey")
		orders := h.keys(h.filter("orders", h.dates("o_orderdate", "", "1995-03-15"), h.in("o_custkey", customers)), "o_orderkey")
		h.filter("lineitem", h.dates("l_shipdate", "1995-03-16", ""), h.in("l_orderkey", orders))
	},
	func(h *byHand) { // Q4
		orders := h.keys(h.filter("orders", h.dates("o_orderdate", "1993-07-01", "1993-10-01")), "o_orderkey")
		h.filter("lineitem", h.in("l_orderkey", orders))
	},
	func(h *byHand) { // Q5
		nations := h.nationsOf("ASIA")
		suppliers := h.suppliers(nations)
		customers := h.keys(h.filter("customer", h.in("c_nationkey", nations)), "c_custkey")
		orders := h.keys(h.filter("orders", h.dates("o_orderdate", "1994-01-01", "1995-01-01"), h.in("o_custkey", customers)), "o_orderkey")
		h.filter("lineitem", h.in("l_orderkey", orders), h.in("l_suppkey", suppliers)).Estimate = 40_000
	},
	func(h *byHand) { // Q6
		quantity := h.between("l_quantity", 0, 2399)
		h.filter("lineitem", h.dates("l_shipdate", "1994-01-01", "1995-01-01"), h.between("l_discount", 5, 7), quantity)
	},
	func(h *byHand) { // Q7
		nations := h.nations("FRANCE", "GERMANY")
		suppliers := h.suppliers(nations)
		customers := h.keys(h.filter("customer", h.in("c_nationkey", nations)), "c_custkey")
		orders := h.keys(h.filter("orders", h.in("o_custkey", customers)), "o_orderkey")
		h.filter("lineitem", h.dates("l_shipdate", "1995-01-01", "1997-01-01"), h.in("l_suppkey", suppliers), h.in("l_orderkey", orders)).Estimate = 12_000
	},
	func(h *byHand) { // Q8
		nations := h.nationsOf("AMERICA")
		h.scans["nation n1"] = h.scans["nation"]
		delete(h.scans, "nation")
		customers := h.keys(h.filter("customer", h.in("c_nationkey", nations)), "c_custkey")
		orders := h.keys(h.filter("orders", h.dates("o_orderdate", "1995-01-01", "1997-01-01"), h.in("o_custkey", customers)), "o_orderkey")
		parts := h.keys(h.filter("part", h.oneOf("p_type", "ECONOMY ANODIZED STEEL")), "p_partkey")
		h.filter("lineitem", h.in("l_partkey", parts), h.in("l_orderkey", orders)).Estimate = 2500
	},
	func(h *byHand) { // Q9
		parts := h.askKeys("SELECT p_partkey FROM part WHERE p_name LIKE '%green%'")
		h.filter("part", h.in("p_partkey", parts)).Estimate = 10_000
		h.filter("partsupp", h.in("ps_partkey", parts)).Estimate = 40_000
		h.filter("lineitem", h.in("l_partkey", parts)).Estimate = 320_000
	},
	func(h *byHand) { // Q10
		orders := h.keys(h.filter("orders", h.dates("o_orderdate", "1993-10-01", "1994-01-01")), "o_orderkey")
		h.filter("lineitem", h.oneOf("l_returnflag", "R"), h.in("l_orderkey", orders)).Estimate = 5 * 115_000
	},
	func(h *byHand) { // Q11
		h.filter("partsupp", h.in("ps_suppkey", h.suppliers(h.nations("GERMANY")))).Estimate = 32_000
	},
	func(h *byHand) { // Q12
		lines := h.filter("lineitem", h.oneOf("l_shipmode", "MAIL", "SHIP"), h.dates("l_receiptdate", "1994-01-01", "1995-01-01"))
		h.filter("orders", h.in("o_orderkey", h.keys(lines, "l_orderkey"))).Estimate = 230_000
	},
	nil,
	func(h *byHand) { // Q14
		h.filter("lineitem", h.dates("l_shipdate", "1995-09-01", "1995-10-01")).Estimate = 5 * 75_000
	},
	func(h *byHand) { // Q15
		h.filter("lineitem", h.dates("l_shipdate", "1996-01-01", "1996-04-01"))
	},
	func(h *byHand) { // Q16
		sizes := []int64{49, 14, 23, 45, 19, 3, 36, 9}
		set, err := duckdb.NewKeySet(sizes)
		require.NoError(h, err)
		parts := h.keys(h.filter("part", h.in("p_size", set), h.keep("p_brand", func(v string) bool { return v != "Brand#45" }),
			h.keep("p_type", func(v string) bool { return !strings.HasPrefix(v, "MEDIUM POLISHED") })), "p_partkey")
		h.filter("partsupp", h.in("ps_partkey", parts)).Estimate = 120_000
	},
	func(h *byHand) { // Q17
		parts := h.keys(h.filter("part", h.oneOf("p_brand", "Brand#23"), h.oneOf("p_container", "MED BOX")), "p_partkey")
		h.filter("lineitem", h.in("l_partkey", parts)).Estimate = 6000
	},
	nil,
	func(h *byHand) { // Q19
		parts := h.keys(h.filter("part", h.oneOf("p_brand", "Brand#12", "Brand#23", "Brand#34"), h.between("p_size", 1, 15),
			h.keep("p_container", func(v string) bool {
				return strings.HasPrefix(v, "SM") || strings.HasPrefix(v, "MED") || strings.HasPrefix(v, "LG")
			})), "p_partkey")
		h.filter("lineitem", h.oneOf("l_shipmode", "AIR", "AIR REG"), h.oneOf("l_shipinstruct", "DELIVER IN PERSON"),
			h.between("l_quantity", 100, 3000), h.in("l_partkey", parts))
	},
	func(h *byHand) { // Q20
		parts := h.askKeys("SELECT p_partkey FROM part WHERE p_name LIKE 'forest%'")
		suppliers := h.suppliers(h.nations("CANADA"))
		h.filter("part", h.in("p_partkey", parts))
		h.filter("partsupp", h.in("ps_partkey", parts), h.in("ps_suppkey", suppliers)).Estimate = 1000
		h.filter("lineitem", h.in("l_partkey", parts), h.in("l_suppkey", suppliers), h.dates("l_shipdate", "1994-01-01", "1995-01-01")).Estimate = 5000
	},
	func(h *byHand) { // Q21
		l1 := h.filter("lineitem l1", h.in("l_suppkey", h.suppliers(h.nations("SAUDI ARABIA"))))
		orders := h.filter("orders", h.oneOf("o_orderstatus", "F"), h.in("o_orderkey", h.keys(l1, "l_orderkey")))
		keys := h.keys(orders, "o_orderkey")
		l1.Filters = append(l1.Filters, h.in("l_orderkey", keys))
		l1.Estimate = 600_000
		h.filter("lineitem l2", h.in("l_orderkey", keys)).Estimate = 600_000
		h.filter("lineitem l3", h.in("l_orderkey", keys)).Estimate = 600_000
	},
	nil,
}
