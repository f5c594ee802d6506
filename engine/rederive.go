package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/split"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// A table of CREATE TABLE AS comes back from its query: all of it, because a query gives its rows in any order. The sum of its rows' hashes says
// whether they are those that it gave when the table was made.

// originOfQuery is that of a table's rows; nil if they cannot be made again by the statement's text.
func (s *Session) originOfQuery(plan *query, name catalog.TableName, text string, args []any, sum *ingest.Sum) *lineage.Origin {
	if len(args) > 0 || sum.Unknown {
		return nil
	}
	q := &lineage.Query{Text: text, SearchPath: s.settings.SearchPath, Sum: sum.Total,
		TimeZone: s.settings.Given["timezone"], Settings: map[string]string{}}
	setting.CopyMeaning(q.Settings, s.settings.Given)
	return upkeep.OriginOf(q, sum.Rows, name, split.Read(plan.scans, plan.source, plan.split))
}

// rederive rebuilds a table from its query, at those nodes of its placement that are there; others are taken out of the
// placement, as a drain does. It returns how many chunks it made.
func (e *Engine) rederive(ctx context.Context, table catalog.Table, words string) (made int, err error) {
	o, err := lineage.Decode(words)
	if err != nil {
		return 0, sqlerror.New("58000", "table %v cannot be reloaded: %v", table.Name, err)
	}
	s, err := e.Session(SessionOptions{})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	ctx, leave, err := s.life.Call(ctx) // E6: the session's end waits for this call
	if err != nil {
		return 0, err
	}
	defer leave()
	settings := configuration.Default(s.options.User)
	settings.SearchPath = o.Query.SearchPath
	if o.Query.TimeZone != "" {
		settings.Given["timezone"] = o.Query.TimeZone
	}
	if err := setting.ReadMeaning(settings.Given, o.Query.Settings); err != nil {
		return 0, err
	}
	if err := s.apply(settings); err != nil {
		return 0, err
	}
	err = s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		version, ok := tx.Contents().Table(table.Name)
		if !ok || version.Table().ID != table.ID || !upkeep.Derived(version, words) {
			return fmt.Errorf("%w: table %v, which was to be reloaded", catalog.ErrConflict, table.Name)
		}
		made, err = s.deriveAgain(ctx, tx, v, version, o)
		return err
	})
	if err != nil {
		return 0, err
	}
	return made, nil
}

// deriveAgain writes the rows, if they are what they were.
func (s *Session) deriveAgain(ctx context.Context, tx *catalog.Transaction, v *snapshot.View, version *catalog.TableVersion, o *lineage.Origin) (int, error) {
	e, table := s.engine, version.Table()
	p, err := e.upkeep.PlacementOfThoseThere(table)
	if err != nil {
		return 0, err
	}
	plan, err := s.planQuery(ctx, dialect.SourceOf(o.Query.Text), v)
	if err != nil {
		return 0, upkeep.NotDerived(table, v.Contents, o, err)
	}
	defer plan.close()
	rows, err := plan.execute(ctx, v, nil)
	if err != nil {
		return 0, upkeep.NotDerived(table, v.Contents, o, err)
	}
	defer rows.Close()
	target := e.upkeep.Target(ctx, table.Name, table.Columns)
	fewer := version.Replicate(min(table.Replicas, len(e.upkeep.TakersOfCopies()))) // the others are made when there are nodes for them
	if err := e.upkeep.Place(ctx, &target, p, fewer); err != nil {
		return 0, err
	}
	sum := &ingest.Sum{}
	target.Sum = sum
	w := ingest.NewWriter(target)
	defer w.Abort()
	if err := w.AddAll(ctx, rows.nextOwned); err != nil {
		return 0, upkeep.NotDerived(table, v.Contents, o, err)
	}
	chunks, parts, err := w.FinishParts(ctx)
	if err != nil {
		return 0, upkeep.NotDerived(table, v.Contents, o, err)
	}
	if sum.Unknown || sum.Rows != o.Rows || sum.Total != o.Query.Sum {
		return 0, errors.Join(upkeep.NotDerived(table, v.Contents, o, nil), target.Discard(chunks))
	}
	if text := p.String(); p.Kind != placement.Local && text != table.Placement {
		if err := tx.SetPlacement(table.Name, text); err != nil {
			return 0, errors.Join(err, target.Discard(chunks))
		}
	}
	again := &lineage.Origin{Rows: o.Rows, Query: o.Query}
	return len(chunks), tx.ReplaceFrom(table.Name, chunks, upkeep.LaidOut(again, target, parts).Encode())
}
