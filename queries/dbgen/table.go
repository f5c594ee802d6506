package dbgen

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Table names one of the eight TPC-H tables.
type Table uint8

// The tables, in an order in which no table refers to a later one.
const (
	Region Table = iota
	Nation
	Supplier
	Customer
	Part
	PartSupp
	Orders
	LineItem
	tableCount
)

var tableNames = [tableCount]string{"region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"}

// String returns the table's name in SQL, in lower case.
func (t Table) String() string {
	if t >= tableCount {
		return fmt.Sprintf("table(%d)", uint8(t))
	}
	return tableNames[t]
}

// Tables returns all tables, referenced ones first.
func Tables() []Table {
	return []Table{Region, Nation, Supplier, Customer, Part, PartSupp, Orders, LineItem}
}

// columnKind is how a column is typed for users and how it is stored.
type columnKind uint8

const (
	bigint   columnKind = iota // int64
	integer                    // int32
	money                      // DECIMAL(15,2): hundredths in an int64
	date                       // days since 1970-01-01
	text                       // free string: utf8 for users, utf8_view in a batch
	category                   // closed set: utf8 for users, sorted dictionary in a batch
)

var (
	moneyType = &arrow.Decimal64Type{Precision: 15, Scale: 2}
	// categoryType promises that codes order as their strings do (D4).
	categoryType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String, Ordered: true}

	logicalTypes = [...]arrow.DataType{
		bigint: arrow.PrimitiveTypes.Int64, integer: arrow.PrimitiveTypes.Int32, money: moneyType,
		date: arrow.FixedWidthTypes.Date32, text: arrow.BinaryTypes.String, category: arrow.BinaryTypes.String,
	}
	physicalTypes = [...]arrow.DataType{
		bigint: arrow.PrimitiveTypes.Int64, integer: arrow.PrimitiveTypes.Int32, money: moneyType,
		date: arrow.FixedWidthTypes.Date32, text: arrow.BinaryTypes.StringView, category: categoryType,
	}
)

// column declares one column of a table.
type column struct {
	name string
	kind columnKind
}

var tableColumns = [tableCount][]column{
	Region: {{"r_regionkey", integer}, {"r_name", category}, {"r_comment", text}},
	Nation: {{"n_nationkey", integer}, {"n_name", category}, {"n_regionkey", integer}, {"n_comment", text}},
	Supplier: {
		{"s_suppkey", bigint}, {"s_name", text}, {"s_address", text}, {"s_nationkey", integer},
		{"s_phone", text}, {"s_acctbal", money}, {"s_comment", text},
	},
	Customer: {
		{"c_custkey", bigint}, {"c_name", text}, {"c_address", text}, {"c_nationkey", integer},
		{"c_phone", text}, {"c_acctbal", money}, {"c_mktsegment", category}, {"c_comment", text},
	},
	Part: {
		{"p_partkey", bigint}, {"p_name", text}, {"p_mfgr", category}, {"p_brand", category},
		{"p_type", category}, {"p_size", integer}, {"p_container", category},
		{"p_retailprice", money}, {"p_comment", text},
	},
	PartSupp: {
		{"ps_partkey", bigint}, {"ps_suppkey", bigint}, {"ps_availqty", bigint},
		{"ps_supplycost", money}, {"ps_comment", text},
	},
	Orders: {
		{"o_orderkey", bigint}, {"o_custkey", bigint}, {"o_orderstatus", category},
		{"o_totalprice", money}, {"o_orderdate", date}, {"o_orderpriority", category},
		{"o_clerk", text}, {"o_shippriority", integer}, {"o_comment", text},
	},
	LineItem: {
		{"l_orderkey", bigint}, {"l_partkey", bigint}, {"l_suppkey", bigint}, {"l_linenumber", bigint},
		{"l_quantity", money}, {"l_extendedprice", money}, {"l_discount", money}, {"l_tax", money},
		{"l_returnflag", category}, {"l_linestatus", category},
		{"l_shipdate", date}, {"l_commitdate", date}, {"l_receiptdate", date},
		{"l_shipinstruct", category}, {"l_shipmode", category}, {"l_comment", text},
	},
}

var logicalSchemas, physicalSchemas = makeSchemas(logicalTypes[:]), makeSchemas(physicalTypes[:])

func makeSchemas(types []arrow.DataType) (schemas [tableCount]*arrow.Schema) {
	for t, columns := range tableColumns {
		fields := make([]arrow.Field, len(columns))
		for i, c := range columns {
			fields[i] = arrow.Field{Name: c.name, Type: types[c.kind]}
		}
		schemas[t] = arrow.NewSchema(fields, nil)
	}
	return schemas
}

// Schema returns the types that users see. No column is nullable.
// It returns nil for a number that is no table.
func Schema(t Table) *arrow.Schema {
	if t >= tableCount {
		return nil
	}
	return logicalSchemas[t]
}

// PhysicalSchema returns the types of the record batches that Batch makes:
// where Schema says utf8, these are utf8_view, or dictionary<uint8, utf8> with
// a sorted dictionary of the complete domain (D4).
// It returns nil for a number that is no table.
func PhysicalSchema(t Table) *arrow.Schema {
	if t >= tableCount {
		return nil
	}
	return physicalSchemas[t]
}
