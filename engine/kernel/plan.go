package kernel

import (
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Choice is what a session has set of where its queries run: in the kernels or in DuckDB.
type Choice struct {
	Settings *configuration.Session
	Without  optimization.Set
}

// Plan plans a query for the kernels if they can run it and should; nil: DuckDB runs it. find gives a table by its
// names.
func (c Choice) Plan(sql *plan.Statement, find func(schema, table string) *catalog.TableVersion) (*plan.Query, error) {
	if c.never() {
		return nil, nil
	}
	q, unsupported := c.supported(sql)
	if unsupported == nil && q.Table != nil && marked(q, find) {
		unsupported = &plan.Unsupported{Reason: "columns of types that Arrow lacks (UUID, JSON)", Position: -1}
	}
	if unsupported == nil && (c.Settings.Backend == configuration.BackendCompute || c.better(q) && certain(q)) {
		return q, nil
	}
	if c.Settings.Backend == configuration.BackendCompute {
		return nil, sqlerror.New("0A000", "the Arrow-kernel backend cannot run this: %s", unsupported).
			WithHint("SET csm.backend = 'auto' lets DuckDB run it.")
	}
	return nil, nil
}

// Lookup plans what gives a few rows that are to be changed; nil: it is not for the kernels.
func (c Choice) Lookup(sql *plan.Statement) *plan.Query {
	if c.never() {
		return nil
	}
	if q, unsupported := c.supported(sql); unsupported == nil && q.Lookup() {
		return q
	}
	return nil
}

// better reports whether the kernels answer sooner than DuckDB (decision 0055). A session that has every query split
// keeps that for what is computed.
func (c Choice) better(q *plan.Query) bool {
	return q.Trivial() || q.Small() && c.Settings.Distribute != "always"
}

func (c Choice) never() bool {
	return c.Settings.Backend == configuration.BackendDuckDB ||
		c.Settings.Backend == configuration.BackendAuto && c.Without.Has(optimization.Compute)
}

func (c Choice) supported(sql *plan.Statement) (*plan.Query, *plan.Unsupported) {
	q, unsupported := sql.Compute()
	if other := setting.Changed(c.Settings.Given); other != "" && unsupported == nil {
		unsupported = &plan.Unsupported{Reason: other + " is not what it is by default", Position: -1}
	}
	return q, unsupported
}

// marked reports whether a query reads columns whose type is in the field's metadata: the kernels would lose it.
func marked(q *plan.Query, find func(schema, table string) *catalog.TableVersion) bool {
	schema := find(q.Table.Relation.Schema, q.Table.Relation.Name).Table().Columns
	return slices.ContainsFunc(q.Table.Project, func(i int) bool {
		return schema.Field(i).Metadata.FindKey("ARROW:extension:name") >= 0
	})
}

// parameterTypes are the families of types that kernels compare and clients know.
var parameterTypes = map[plan.TypeKind]duckdb.ParameterType{
	plan.KindBoolean: duckdb.TypeBoolean, plan.KindSmallInt: duckdb.TypeInt16, plan.KindInteger: duckdb.TypeInt32,
	plan.KindBigInt: duckdb.TypeInt64, plan.KindDouble: duckdb.TypeFloat64, plan.KindDecimal: duckdb.TypeNumeric,
	plan.KindVarchar: duckdb.TypeText, plan.KindDate: duckdb.TypeDate, plan.KindTimestamp: duckdb.TypeTimestamp,
}

// certain reports whether DuckDB would give parameters the same types.
func certain(q *plan.Query) bool { return !slices.Contains(Parameters(q), duckdb.TypeUnknown) }

// Parameters are the types of the parameters, unknown where they are not certain.
func Parameters(q *plan.Query) []duckdb.ParameterType {
	types := make([]duckdb.ParameterType, len(q.Types))
	for i, t := range q.Types {
		types[i] = parameterTypes[t.Kind]
	}
	return types
}
