package engine

import (
	"context"

	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/kernel"
	"github.com/csmsql/csmsql/engine/locking"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// prepareExplain plans the inner statement and shows how it would run, or how it ran.
func (st *Statement) prepareExplain(ctx context.Context, head *statement.Explain) error {
	inner, err := statement.Parse(head.Inner)
	if err != nil {
		return err
	}
	if execute, ok := inner.Head.(*statement.Execute); ok {
		text, err := st.session.executed(ctx, execute)
		if err != nil {
			return err
		}
		if inner, err = statement.Parse(text); err != nil {
			return err
		}
	}
	if _, ok := inner.Head.(*statement.Select); !ok {
		return sqlerror.New("0A000", "EXPLAIN explains queries").WithHint("EXPLAIN the SELECT that the statement takes its rows from.")
	}
	inner, locks, err := locking.Explained(inner, head.Analyze)
	if err != nil {
		return err
	}
	within := cast.Verbatim(inner.Text) // the statement; EXECUTE's is not
	if st.params, err = st.session.parametersOf(ctx, inner); err != nil {
		return within.Relocate(err, st.parsed.Text)
	}
	st.schema = conform.TextSchema("QUERY PLAN")
	st.run = func(ctx context.Context, args []any) (*Rows, error) {
		rows, err := st.explain(ctx, head, inner, locks, args)
		if err != nil {
			return nil, within.Relocate(err, st.parsed.Text)
		}
		return rows, nil
	}
	return nil
}

// parametersOf are the types of a query's parameters; only one that has some is planned for them.
func (s *Session) parametersOf(ctx context.Context, query *statement.Statement) ([]duckdb.ParameterType, error) {
	if _, some := dialect.Dense(query.Text); len(some) == 0 {
		return nil, nil
	}
	v, err := s.see(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	plan, err := s.planQuery(ctx, dialect.Source{Read: query.Read(), Tree: query.Tree}, v)
	if err != nil {
		return nil, err
	}
	defer plan.close()
	if plan.compute != nil {
		return make([]duckdb.ParameterType, plan.compute.Parameters), nil
	}
	return plan.Params, nil
}

func (st *Statement) explain(ctx context.Context, head *statement.Explain, inner *statement.Statement, lines []string,
	args []any) (*Rows, error) {
	s := st.session
	v, err := s.see(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	plan, err := s.planQuery(ctx, dialect.Source{Read: inner.Read(), Tree: inner.Tree}, v)
	if err != nil {
		return nil, err
	}
	defer plan.close()
	if plan.compute != nil {
		lines = append(append(lines, "Backend: Arrow kernels"), plan.Unused()...)
		lines = append(lines, kernel.Describe(ctx, plan.compute, plan.source, plan.Without, args)...)
		return textRows("QUERY PLAN", lines, "EXPLAIN"), nil
	}
	lines = append(append(lines, "Backend: DuckDB"), plan.Unused()...)
	if plan.split != nil {
		return plan.explainSplit(ctx, v, head, lines, args)
	}
	if plan.whole != "" {
		lines = append(lines, "Single node: "+plan.whole)
	}
	for _, t := range plan.scans {
		if err := t.Start(ctx, argument.Constants(args)); err != nil {
			return nil, err
		}
		lines = append(lines, t.Describe())
	}
	verb := map[bool]string{false: "EXPLAIN ", true: "EXPLAIN ANALYZE "}[head.Analyze]
	s.yield()
	given, values := plan.Given, args
	if plan.Late {
		given, err = plan.WithValues(args)
		values = nil
	}
	if err != nil {
		return nil, err
	}
	s.visible = v // until it has run: DuckDB plans again what asks for the present
	defer func() { s.visible = nil }()
	duck, err := s.conn.Prepare(verb + given)
	if err != nil {
		return nil, dialect.FromDuckDB(err, plan.Given, inner.Text, plan.Edits)
	}
	defer duck.Close()
	if err := duck.Bind(values); err != nil {
		return nil, err
	}
	rows, err := duck.Execute(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	shown, err := conform.AllLines(rows.Next)
	if err != nil {
		return nil, err
	}
	return textRows("QUERY PLAN", append(lines, shown...), "EXPLAIN"), nil
}
