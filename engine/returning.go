package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/engine/revalidation"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/typing"
)

// RETURNING asks for something of each row that a statement wrote or removed.
//
//	rows that DuckDB gave ──► chunks of the new version
//	        └─ kept ──► csm_scan(n) ──► SELECT list FROM (SELECT …) AS the table's name ──► kept, until
//	                                                                                         COMMIT has succeeded
//
// It is asked of the very rows that were written and not of the table: values may be random, and a delete has none left.
// They are batches of DuckDB's, not copied, with rows that were not hit; what is kept is charged to the session.

// describeReturning plans the list over no rows, to see what is wrong with it and what it gives.
func (st *Statement) describeReturning(ctx context.Context, r *rewrite.Returning, version *catalog.TableVersion, v *snapshot.View) error {
	columns := func(query string) (*arrow.Schema, error) { // as tables would have them
		plan, err := st.session.planDuck(ctx, dialect.SourceOf(query), v)
		if err != nil {
			return nil, err
		}
		defer plan.close()
		return plan.Duck.Stored(true)
	}
	said, err := r.Read(version.Table(), columns)
	if err != nil {
		return r.Place(err, st.parsed.Text)
	}
	if err := st.session.rowwise(ctx, v, said); err != nil {
		return err
	}
	plan, err := st.session.planQuery(ctx, dialect.SourceOf(r.Query(said)), v)
	if err != nil {
		return r.PlaceQuery(err, st.parsed.Text)
	}
	st.schema, st.returning, st.origins = plan.schema, r, st.session.originsReturned(r, version, v)
	defer plan.close()
	r.Result, err = plan.Duck.Stored(true)
	return err
}

// originsReturned finds which of the returned columns are the table's.
func (s *Session) originsReturned(
	r *rewrite.Returning, version *catalog.TableVersion, v *snapshot.View) []typing.Origin {
	const written = "csm_written"
	text := r.Query(rewrite.Condition{With: r.With, From: r.Beside(written + " AS " + duckdb.QuoteIdentifier(r.Alias))})
	return typing.Origins(text, dialect.TreeOf(text), relation.Called(written, version, s.relations(v).Find))
}

// returned asks for the list of the rows that were kept. The caller releases what it keeps, nothing with an error.
func (st *Statement) returned(ctx context.Context, v *snapshot.View, written *retained.Batches, columns *arrow.Schema) (*retained.Batches, error) {
	s, out := st.session, st.session.keeper()
	if len(written.List) == 0 {
		return out, nil
	}
	number := s.conn.Register(written.Scan(st.returning.Raw(written.List[0].Schema(), columns)))
	defer s.conn.Forget(number)
	plan, err := s.planDuck(ctx, dialect.SourceOf(st.returning.Kept(columns, duckdb.ScanCall(number))), v)
	if err != nil {
		return out, st.returning.PlaceQuery(err, st.parsed.Text)
	}
	defer plan.close()
	if !conform.SameTypes(plan.schema, st.schema) {
		return out, revalidation.Outdated()
	}
	rows, err := plan.execute(ctx, v, nil)
	if err != nil {
		return out, dialect.WithoutPosition(err)
	}
	defer rows.Close()
	if err = out.Drain(ctx, rows.Next); err != nil {
		out.Release()
	}
	return out, dialect.WithoutPosition(err)
}

// keeper keeps batches for the session.
func (s *Session) keeper() *retained.Batches { return retained.For(s.account) }

// keptRows gives what was kept as the statement's rows.
func keptRows(k *retained.Batches, schema *arrow.Schema, tag string, affected int64) *Rows {
	rows := &Rows{schema: schema, tag: func(int64) string { return tag }, affected: affected, fetch: k.Again()}
	rows.onClose(k.Release)
	return rows
}
