package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/check"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// UPDATE and DELETE. Sealed chunks never change, so both write the table anew: its rows pass through DuckDB once and
// become the chunks of one new version. That costs as much as the table is large, whatever the number of rows hit, and
// is said so in the documentation; a table that changes row by row all day is not what csmsql is for.

// rewrite is a statement that replaces a table's rows by those of a query.
type rewrite struct {
	name statement.Name
	tag  string // with %d for the number of rows that were hit
	// flagged: the query's last column says whether the row was hit; otherwise rows that are missing were hit.
	flagged bool
	removes bool // rows that were hit, as the flag says, do not stay
	query   func(version *catalog.TableVersion) (string, error)
}

func deleteRewrite(head *statement.Delete) (rewrite, error) {
	where := head.Where
	if where == "" {
		where = "true"
	}
	hit := "coalesce((" + where + "\n), false)"
	if head.Using != "" {
		if name := dialect.VolatileIn(where); name != "" {
			return rewrite{}, sqlerror.New("0A000", "DELETE … USING with %s() in its condition is not supported", name).
				WithHint("It is asked of each pair of rows. Store its values in a table first, or write the condition without USING.")
		}
		hit = "EXISTS (SELECT 1 FROM " + head.Using + " WHERE " + where + "\n)"
	}
	if head.Returning != "" {
		return rewrite{
			name: head.Name, tag: "DELETE %d", flagged: true, removes: true,
			query: func(*catalog.TableVersion) (string, error) {
				return head.With + " SELECT *, " + hit + " AS " + hitColumn + " FROM " + tableAs(head.Name, head.Alias), nil
			},
		}, nil
	}
	return rewrite{
		name: head.Name, tag: "DELETE %d",
		query: func(*catalog.TableVersion) (string, error) {
			return head.With + " SELECT * FROM " + tableAs(head.Name, head.Alias) + " WHERE NOT " + hit, nil
		},
	}, nil
}

func updateRewrite(head *statement.Update) (rewrite, error) {
	if head.From != "" {
		return rewrite{}, sqlerror.New("0A000", "UPDATE … FROM is not supported").WithHint("Use a sub-query: SET c = (SELECT … FROM …) WHERE … IN (SELECT …).")
	}
	where := "true"
	if head.Where != "" {
		where = "coalesce((" + head.Where + "\n), false)"
	}
	return rewrite{
		name: head.Name, tag: "UPDATE %d", flagged: true,
		query: func(version *catalog.TableVersion) (string, error) { return updateQuery(head, version, where) },
	}, nil
}

// updateQuery computes what the rows of the table become. What is asked of a row is asked once, in a query of its own:
// a condition may be random(), and DuckDB keeps a column of a derived table that is volatile apart from those who read it.
//
//	SELECT CASE WHEN u.csm_hit THEN CAST((value) AS type) ELSE u.a END AS a, u.b, …, u.csm_hit
//	FROM (SELECT *, coalesce((condition), false) AS csm_hit FROM u) AS u
//
// Values are computed for rows that were hit and no others: 1/x WHERE x <> 0 is no error.
func updateQuery(head *statement.Update, version *catalog.TableVersion, where string) (string, error) {
	schema := version.Table().Columns
	values, err := assignments(head, version.Table())
	if err != nil {
		return "", err
	}
	qualifier := head.Alias
	if qualifier == "" {
		qualifier = head.Name.Name
	}
	qualifier = duckdb.QuoteIdentifier(qualifier)
	hit := qualifier + "." + hitColumn
	list := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		name := duckdb.QuoteIdentifier(f.Name)
		list[i] = qualifier + "." + name
		if value, ok := values[i]; ok {
			typ, err := columntype.SQL(f)
			if err != nil {
				return "", err
			}
			// The cast is inside: a branch of another type would make DuckDB complain about a CASE that nobody wrote.
			given, old := "CAST(("+value+"\n) AS "+typ+")", list[i]
			if t, ok := f.Type.(*arrow.FixedSizeListType); ok { // of which DuckDB has no CASE
				list, err := columntype.ListOf(t.ElemField(), "[]")
				if err != nil {
					return "", err
				}
				given, old = "CAST("+given+" AS "+list+")", "CAST("+old+" AS "+list+")"
			}
			list[i] = "CASE WHEN " + hit + " THEN " + given + " ELSE " + old + " END AS " + name
		}
	}
	rows := "SELECT *, " + where + " AS " + hitColumn + " FROM " + tableAs(head.Name, head.Alias)
	return head.With + " SELECT " + strings.Join(list, ", ") + ", " + hit + " FROM (" + rows + "\n) AS " + qualifier, nil
}

// assignments are the expressions that an UPDATE gives to columns, by the columns' positions.
func assignments(head *statement.Update, table catalog.Table) (map[int]string, error) {
	schema := table.Columns
	values := map[int]string{}
	for _, a := range head.Set {
		i := ingest.Index(schema, a.Column)
		if i < 0 {
			return nil, sqlerror.New("42703", "column %q of relation %q does not exist", a.Column, head.Name.Name)
		}
		if _, twice := values[i]; twice {
			return nil, sqlerror.New("42601", "multiple assignments to same column %q", a.Column)
		}
		values[i] = a.Value
		if a.Default {
			var ok bool
			if values[i], ok = cast.Default(schema.Field(i)); !ok {
				values[i] = "NULL"
			}
			continue
		}
		values[i] = cast.ForColumn(values[i], schema.Field(i))
		if head.Alias == "" {
			values[i], _ = withoutSchema(table.Name, values[i])
		}
	}
	return values, nil
}

func tableAs(name statement.Name, alias string) string {
	if alias == "" {
		return dialect.QuoteName(name)
	}
	return dialect.QuoteName(name) + " AS " + duckdb.QuoteIdentifier(alias)
}

// prepareRewrite checks the statement; temporary tables are DuckDB's to change.
func (st *Statement) prepareRewrite(ctx context.Context, r rewrite) error {
	s := st.session
	v, err := s.see(ctx)
	if err != nil {
		return err
	}
	defer v.release()
	version, err := s.target(v, r.name)
	if err == errTemporary {
		return st.preparePrivate(ctx, &statement.Private{Verb: "update"})
	}
	if err != nil {
		return st.pointAt(err, r.name.Name)
	}
	text, err := r.query(version)
	if err == nil {
		err = s.rowwiseChange(ctx, v, st.parsed.Head, version)
	}
	if err != nil {
		return st.pointAt(err, r.name.Name)
	}
	if list := returningOf(st.parsed.Head); list != nil {
		if err := st.describeReturning(ctx, list, version, v); err != nil {
			return err
		}
	}
	plan, err := s.planDuck(ctx, text, dialect.TreeOf(text), v)
	if err != nil {
		return dialect.WithoutPosition(err)
	}
	st.params = plan.params
	plan.close()
	st.run = func(ctx context.Context, args []any) (*Rows, error) { return st.runRewrite(ctx, r, args) }
	return nil
}

func (st *Statement) runRewrite(ctx context.Context, r rewrite, args []any) (*Rows, error) {
	s := st.session
	var hit int64
	out := s.keeper()
	err := s.write(ctx, func(tx *catalog.Transaction, v *visible) error {
		version, err := s.target(v, r.name)
		if err != nil {
			return err
		}
		if st.returning == nil {
			hit, err = s.replaceRows(ctx, tx, v, version, r, args, nil)
			return err
		}
		hits := s.keeper()
		defer hits.release()
		if hit, err = s.replaceRows(ctx, tx, v, version, r, args, hits); err != nil {
			return err
		}
		kept, err := st.returned(ctx, v, hits, version.Table().Columns)
		if err == nil {
			out = kept
		}
		return err
	})
	if err != nil {
		out.release()
		return nil, err
	}
	if st.returning != nil {
		return out.result(st.schema, fmt.Sprintf(r.tag, hit), hit), nil
	}
	return done(fmt.Sprintf(r.tag, hit), hit), nil
}

// replaceRows makes the rows of a rewrite the table's, unless it hits none. hits, if not nil, keeps the batches with
// rows that were hit.
func (s *Session) replaceRows(ctx context.Context, tx *catalog.Transaction, v *visible, version *catalog.TableVersion, r rewrite, args []any, hits *keeper) (hit int64, err error) {
	text, err := r.query(version)
	if err != nil {
		return 0, err
	}
	table := version.Table()
	if text, err = rewriteSource(text, table.Columns, r.flagged); err != nil {
		return 0, err
	}
	plan, err := s.planDuck(ctx, text, dialect.TreeOf(text), v)
	if err != nil {
		return 0, dialect.WithoutPosition(err)
	}
	defer plan.close()
	rows, err := plan.execute(ctx, v, args)
	if err != nil {
		return 0, dialect.WithoutPosition(err)
	}
	defer rows.Close()
	target, err := s.engine.upkeep.TargetFor(ctx, version, s.zone())
	if err != nil {
		return 0, err
	}
	target.Check = nil // what stays as it was is not new
	changed := &check.Changed{}
	defer changed.Release()
	if r.flagged && !r.removes {
		if changed.Checks, err = s.engine.checks.Of(table, s.zone()); err != nil {
			return 0, err
		}
	}
	w := ingest.NewWriter(target)
	defer w.Abort()
	for {
		batch, err := rows.Next(ctx)
		if isEnd(err) {
			break
		}
		if err != nil {
			return 0, dialect.WithoutPosition(err)
		}
		fit, err := ingest.Fit(ctx, batch, target.Limits) // before RETURNING sees it
		batch.Release()
		if err != nil {
			return 0, err
		}
		n, err := addRows(ctx, w, fit, r, hits, changed)
		fit.Release()
		if err != nil {
			return 0, err
		}
		hit += n
	}
	if err := changed.Flush(ctx); err != nil {
		return 0, err
	}
	if !r.flagged {
		hit = version.Rows() - w.Rows()
	}
	if hit == 0 {
		return 0, nil
	}
	chunks, err := w.Finish(ctx)
	if err != nil {
		return 0, err
	}
	s.engine.config.Fault.At(faults.RewriteSealed)
	return hit, tx.Replace(table.Name, chunks)
}

// addRows adds the rows of a batch that stay to the writer, and tells how many were hit, as far as they are flagged.
func addRows(ctx context.Context, w *ingest.Writer, batch arrow.RecordBatch, r rewrite, hits *keeper,
	changed *check.Changed) (hit int64, err error) {
	if !r.flagged {
		return 0, w.Add(ctx, batch)
	}
	last := int(batch.NumCols()) - 1
	flags, _ := batch.Column(last).(*array.Boolean)
	hit = countTrue(flags)
	if hit > 0 && hits != nil {
		if err := hits.keep(batch); err != nil {
			return 0, err
		}
	}
	rows := duckdb.Project(batch, firstColumns(last))
	defer rows.Release()
	if hit > 0 {
		if err := changed.Add(ctx, rows, flags); err != nil {
			return 0, err
		}
	}
	if !r.removes || hit == 0 {
		return hit, w.Add(ctx, rows)
	}
	for from := 0; from < flags.Len(); {
		to := from
		for to < flags.Len() && !flags.Value(to) {
			to++
		}
		if to > from {
			run := rows.NewSlice(int64(from), int64(to))
			err := w.Add(ctx, run)
			run.Release()
			if err != nil {
				return 0, err
			}
		}
		from = to + 1
	}
	return hit, nil
}

// rewriteSource casts a rewrite's columns to the table's types; the flag passes as it is.
func rewriteSource(text string, schema *arrow.Schema, flagged bool) (string, error) {
	var columns []string
	for _, f := range schema.Fields() {
		columns = append(columns, f.Name)
	}
	if !flagged {
		src, err := cast.Query(text, schema, columns)
		return src.Text, err
	}
	flag := arrow.Field{Name: hitColumn, Type: arrow.FixedWidthTypes.Boolean, Nullable: true}
	src, err := cast.Query(text, arrow.NewSchema(append(schema.Fields(), flag), nil), append(columns, flag.Name))
	return src.Text, err
}

func firstColumns(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func countTrue(flags *array.Boolean) (n int64) {
	if flags == nil {
		return 0
	}
	for i := range flags.Len() {
		if flags.IsValid(i) && flags.Value(i) {
			n++
		}
	}
	return n
}

// rename gives a table another name.
func (st *Statement) rename(ctx context.Context, head *statement.Rename) (*Rows, error) {
	s := st.session
	if head.Object != statement.Table {
		return nil, sqlerror.New("0A000", "ALTER %s … RENAME is not supported", strings.ToUpper(string(head.Object)))
	}
	err := s.write(ctx, func(tx *catalog.Transaction, v *visible) error {
		version, err := s.target(v, head.Name)
		if e, ok := err.(*Error); ok && e.State == "42P01" && head.IfExists {
			s.notice(Notice{Severity: "NOTICE", State: "00000", Message: fmt.Sprintf("relation %q does not exist, skipping", head.Name.String())})
			return nil
		}
		if err != nil {
			return st.pointAt(err, head.Name.Name)
		}
		from := version.Table().Name
		to := catalog.TableName{Schema: from.Schema, Name: head.To}
		if err := tx.RenameTable(from, to); err != nil {
			return err
		}
		return s.followName(ctx, tx, v, from, to)
	})
	if err != nil {
		return nil, err
	}
	return done("ALTER TABLE", 0), nil
}

// What an UPDATE sets, the condition of an UPDATE or a DELETE, and what RETURNING lists are said of one row each. They
// are asked in select lists, where DuckDB would take an aggregate, a window or an UNNEST for what it is in a query: rows
// that nobody wrote, or values of all rows together. So DuckDB is asked first whether it would take them in a WHERE,
// where it knows those that are of one row.

// rowwise is an error if an expression is not one of a single row of from. place is where it stands, as PostgreSQL
// calls it. What else is wrong with it is said where it is planned for use.
func (s *Session) rowwise(ctx context.Context, v *visible, with, from, place string, expressions ...string) error {
	var asked []string
	for _, expression := range expressions {
		if strings.Contains(expression, "(") { // it may call something
			asked = append(asked, "("+expression+"\n) IS NULL")
		}
	}
	if len(asked) == 0 {
		return nil
	}
	text := with + " SELECT 1 FROM " + from + " WHERE " + strings.Join(asked, " OR ")
	plan, err := s.planDuck(ctx, text, dialect.TreeOf(text), v)
	if err == nil {
		plan.close()
		return nil
	}
	for _, known := range []struct{ words, state, message string }{
		{"aggregate functions are not allowed", "42803", "aggregate functions are not allowed in %s"},
		{"window functions are not allowed", "42P20", "window functions are not allowed in %s"},
		{"UNNEST not supported", "0A000", "set-returning functions are not allowed in %s"},
	} {
		if strings.Contains(err.Error(), known.words) {
			return sqlerror.New(known.state, known.message, place)
		}
	}
	if s.conn.Spoilt() {
		return dialect.WithoutPosition(err) // a constant without a value: nothing more runs in this transaction
	}
	return nil
}

// rowwiseChange is rowwise of an UPDATE or a DELETE of this table.
func (s *Session) rowwiseChange(ctx context.Context, v *visible, head any, version *catalog.TableVersion) error {
	switch head := head.(type) {
	case *statement.Update:
		values, err := assignments(head, version.Table())
		if err != nil {
			return err
		}
		list := make([]string, 0, len(values))
		for _, value := range values {
			list = append(list, value)
		}
		from := tableAs(head.Name, head.Alias)
		if err := s.rowwise(ctx, v, head.With, from, "UPDATE", list...); err != nil {
			return err
		}
		return s.rowwise(ctx, v, head.With, from, "WHERE", head.Where)
	case *statement.Delete:
		from := tableAs(head.Name, head.Alias)
		if head.Using != "" {
			from += ", " + head.Using
		}
		return s.rowwise(ctx, v, head.With, from, "WHERE", head.Where)
	}
	return nil
}

// withoutSchema is statement.WithoutSchema for a table.
func withoutSchema(table catalog.TableName, text string) (string, edit.List) {
	return statement.WithoutSchema(duckdb.CatalogName, statement.Name{Schema: table.Schema, Name: table.Name}, text)
}
