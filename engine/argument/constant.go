package argument

import (
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
)

// Constants are arguments as the planner's constants; what it does not compare is Unknown and prunes nothing.
func Constants(args []any) []plan.Value {
	out := make([]plan.Value, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			out[i] = plan.NullValue()
		case bool:
			out[i] = plan.BoolValue(v)
		case int:
			out[i] = plan.IntValue(int64(v))
		case int16:
			out[i] = plan.IntValue(int64(v))
		case int32:
			out[i] = plan.IntValue(int64(v))
		case int64:
			out[i] = plan.IntValue(v)
		case float64:
			out[i] = plan.DoubleValue(v)
		case string:
			out[i] = plan.TextValue(v)
		case duckdb.Decimal:
			if unscaled, scale, ok := v.Parts(); ok {
				out[i] = plan.DecimalValue(decimal128.FromBigInt(unscaled), int32(scale))
			}
		case duckdb.Date:
			out[i] = plan.DateValue(int32(v))
		}
	}
	return out
}

// ForKernels are arguments as the kernels know them: they have no types of DuckDB's.
func ForKernels(args []any) []any {
	out := slices.Clone(args)
	for i, arg := range args {
		switch v := arg.(type) {
		case duckdb.Decimal:
			out[i] = string(v)
		case duckdb.Date:
			out[i] = arrow.Date32(v)
		case duckdb.TimestampTZ:
			out[i] = time.Time(v)
		}
	}
	return out
}
