package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// What is put on record of where rows come from (package lineage), while they are written. Whatever cannot be known
// for certain is not.

// LaidOut completes an origin, or nil, with how a writer for the target laid its rows over chunks.
func LaidOut(o *lineage.Origin, target ingest.Target, parts []int) *lineage.Origin {
	if o == nil || target.Hash == nil {
		return o
	}
	for _, c := range target.Hash.Columns {
		o.Columns = append(o.Columns, target.Schema.Field(c).Name)
	}
	o.Parts = parts
	return o
}

// SourceOf says for people where the rows of a version's chunks came from; empty: unknown. The result is called chunk
// by chunk.
func SourceOf(v *catalog.TableVersion) func(chunk int) string {
	last, words := catalog.Origin{}, ""
	return func(chunk int) string {
		o, ok := v.Origin(chunk)
		if !ok {
			return ""
		}
		if o != last {
			last, words = o, inWords(o)
		}
		return words
	}
}

// SourcesOf says so of all of a table's, each once.
func SourcesOf(v *catalog.TableVersion) string {
	var list []string
	for _, o := range v.Origins() {
		if words := inWords(o); !slices.Contains(list, words) {
			list = append(list, words)
		}
	}
	return strings.Join(list, "; ")
}

func inWords(o catalog.Origin) string {
	origin, err := lineage.Decode(o.Words)
	if err != nil {
		return "unknown to this version of csmsql"
	}
	return origin.String()
}

// ExplainLoss says what is lost of the table of an error, as this node knows it now: nothing before there is a keeper.
func (k *Keeper) ExplainLoss(err *reader.DamagedError) reader.Loss {
	if k == nil {
		return reader.Loss{}
	}
	schema, name, _ := strings.Cut(err.Table, ".")
	v, ok := k.catalog.Applied().Table(catalog.TableName{Schema: schema, Name: name})
	if !ok {
		return reader.Loss{}
	}
	list, failed := k.Lost(context.Background(), v, Unreadable)
	if failed != nil || len(list) == 0 {
		return reader.Loss{}
	}
	var known, orphans []Chunk
	for _, x := range list {
		if _, ok := v.Origin(x.number); ok {
			known = append(known, x)
		} else {
			orphans = append(orphans, x)
		}
	}
	l := reader.Loss{Detail: fmt.Sprintf("%s of table %s, on %s, cannot be read anywhere.", chunksOf(list), err.Table, nodesOf(list))}
	if len(known) == 0 {
		l.Detail += " No source of the rows is on record."
		return l
	}
	table := duckdb.QuoteIdentifier(schema) + "." + duckdb.QuoteIdentifier(name)
	l.Reload = fmt.Sprintf("ALTER TABLE %s RELOAD rebuilds them from their source: %s.", table, SourcesOf(v))
	if len(orphans) > 0 {
		l.Reload = fmt.Sprintf("ALTER TABLE %s RELOAD rebuilds %s from the source: %s. The rows of %s have no source on record.", table, chunksOf(known), SourcesOf(v), chunksOf(orphans))
	}
	if errors.Is(err.Cause, catalog.ErrLenderGone) {
		l.Reload += fmt.Sprintf(" Or start %s again.", nodesOf(list))
	}
	return l
}
