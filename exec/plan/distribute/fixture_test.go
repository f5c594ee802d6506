package distribute_test

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/csmsql/csmsql/exec/plan"
)

// tpch is a resolver with the eight tables of TPC-H at scale factor 1, their statistics as a load leaves them, and a few
// tables of other types.
func tpch() plan.Resolver {
	tables := tpchTables()
	return plan.ResolverFunc(func(catalog, schema, table string) *plan.Relation {
		if catalog != "" && catalog != "csmsql" || schema != "" && schema != "main" {
			return nil
		}
		return tables[fold(table)]
	})
}

func fold(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 32
		}
	}
	return string(b)
}

func tpchTables() map[string]*plan.Relation {
	tables := map[string]*plan.Relation{}
	for _, r := range []*plan.Relation{
		relation("region", 5, integer("r_regionkey", 0, 4), dictionary("r_name", 5), text("r_comment", 5)),
		relation("nation", 25, integer("n_nationkey", 0, 24), dictionary("n_name", 25), integer("n_regionkey", 0, 4), text("n_comment", 25)),
		relation("supplier", 10000, integer("s_suppkey", 1, 10000), text("s_name", 10000), text("s_address", 10000),
			integer("s_nationkey", 0, 24), text("s_phone", 10000), money("s_acctbal", -99900, 999900), text("s_comment", 10000)),
		relation("customer", 150000, integer("c_custkey", 1, 150000), text("c_name", 150000), text("c_address", 150000),
			integer("c_nationkey", 0, 24), text("c_phone", 150000), money("c_acctbal", -99900, 999900), dictionary("c_mktsegment", 5), text("c_comment", 150000)),
		relation("part", 200000, integer("p_partkey", 1, 200000), text("p_name", 200000), dictionary("p_mfgr", 5), dictionary("p_brand", 25),
			dictionary("p_type", 150), integer("p_size", 1, 50), dictionary("p_container", 40), money("p_retailprice", 90100, 209900), text("p_comment", 130000)),
		relation("partsupp", 800000, integer("ps_partkey", 1, 200000), integer("ps_suppkey", 1, 10000), integer("ps_availqty", 1, 9999),
			money("ps_supplycost", 100, 100000), text("ps_comment", 800000)),
		relation("orders", 1500000, integer("o_orderkey", 1, 6000000), integer("o_custkey", 1, 149999), dictionary("o_orderstatus", 3),
			money("o_totalprice", 85700, 55528517), date("o_orderdate", 8035, 10440), dictionary("o_orderpriority", 5),
			text("o_clerk", 1000), integer("o_shippriority", 0, 0), text("o_comment", 1500000)),
		relation("lineitem", 6001215, integer("l_orderkey", 1, 6000000), integer("l_partkey", 1, 200000), integer("l_suppkey", 1, 10000),
			integer("l_linenumber", 1, 7), money("l_quantity", 100, 5000), money("l_extendedprice", 90100, 10494950),
			money("l_discount", 0, 10), money("l_tax", 0, 8), dictionary("l_returnflag", 3), dictionary("l_linestatus", 2),
			date("l_shipdate", 8036, 10561), date("l_commitdate", 8065, 10530), date("l_receiptdate", 8037, 10591),
			dictionary("l_shipinstruct", 4), dictionary("l_shipmode", 7), text("l_comment", 4000000)),
		relation("t", 1000, integer("a", 1, 100), integer("b", 0, 9), dictionary("m", 10), dictionary("n", 10),
			plan.Column{Name: "x", Type: arrow.PrimitiveTypes.Float64}, plan.Column{Name: "f", Type: arrow.PrimitiveTypes.Float32},
			plan.Column{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
			plan.Column{Name: "flag", Type: arrow.FixedWidthTypes.Boolean}, date("d", 0, 20000),
			plan.Column{Name: "Mixed", Type: arrow.BinaryTypes.String}, money("price", 0, 100000),
			plan.Column{Name: "s", Type: arrow.BinaryTypes.String}),
		relation("u", 50, integer("a", 1, 50), dictionary("m", 4), text("v", 50)),
	} {
		tables[r.Name] = r
	}
	return tables
}

func relation(name string, rows int64, columns ...plan.Column) *plan.Relation {
	for i := range columns {
		columns[i].Stats.Rows, columns[i].Stats.NullsKnown = rows, true
		columns[i].Stats.Distinct = min(columns[i].Stats.Distinct, rows)
	}
	return &plan.Relation{Schema: "main", Name: name, Rows: rows, Columns: columns}
}

func integer(name string, low, high int64) plan.Column {
	return plan.Column{Name: name, Type: arrow.PrimitiveTypes.Int32, Stats: plan.ColumnStats{
		Min: plan.IntValue(low), Max: plan.IntValue(high), Distinct: high - low + 1}}
}

func money(name string, low, high int64) plan.Column {
	return plan.Column{Name: name, Type: &arrow.Decimal128Type{Precision: 15, Scale: 2}, Stats: plan.ColumnStats{
		Min: plan.DecimalValue(decimal128.FromI64(low), 2), Max: plan.DecimalValue(decimal128.FromI64(high), 2), Distinct: high - low + 1}}
}

func date(name string, low, high int32) plan.Column {
	return plan.Column{Name: name, Type: arrow.FixedWidthTypes.Date32, Stats: plan.ColumnStats{
		Min: plan.DateValue(low), Max: plan.DateValue(high), Distinct: int64(high - low + 1)}}
}

func text(name string, distinct int64) plan.Column {
	return plan.Column{Name: name, Type: arrow.BinaryTypes.String, Stats: plan.ColumnStats{Distinct: distinct}}
}

func dictionary(name string, distinct int64) plan.Column {
	c := text(name, distinct)
	c.Dictionary = true
	return c
}
