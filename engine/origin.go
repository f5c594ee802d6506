package engine

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

// What is put on record of where rows come from (package lineage), while they are written. Whatever cannot be known for certain is not.

// sourceFile is a file that rows are read from.
type sourceFile struct {
	file  lineage.File
	known bool
}

// sourceFile takes notice of a file that is about to be read: columns are the table's that it fills, in its order, call gives the table function
// that reads it under a name; nil: it is an Arrow IPC file. sql: it is read for SQL.
func (e *Engine) sourceFile(path string, sql bool, columns []string, call func(file string) (string, error)) *sourceFile {
	if e.node == nil {
		return &sourceFile{}
	}
	file, err := lineage.Look(e.config.Node, path)
	if err != nil {
		return &sourceFile{} // a pattern, or an address
	}
	file.Columns, file.SQL = columns, sql
	if call != nil {
		if file.Call, err = call(file.Path); err != nil {
			return &sourceFile{}
		}
	}
	return &sourceFile{file, true}
}

// end says how many rows the file gave.
func (r *sourceFile) end(rows int64) {
	r.file.Rows = rows
	r.known = r.known && !r.file.Touched()
}

// origin is that of all rows of one file; nil if it is not known.
func (r *sourceFile) origin(rows int64) *lineage.Origin {
	r.end(rows)
	return originOfFiles([]*sourceFile{r}, rows)
}

// originOfFiles is that of the rows of files, one after the other.
func originOfFiles(list []*sourceFile, rows int64) *lineage.Origin {
	o := &lineage.Origin{Rows: rows}
	for _, r := range list {
		if !r.known {
			return nil
		}
		o.Files = append(o.Files, r.file)
	}
	return o
}

// laidOut completes an origin, or nil, with how a writer for the target laid its rows over chunks.
func laidOut(o *lineage.Origin, target ingest.Target, parts []int) *lineage.Origin {
	if o == nil || target.Hash == nil {
		return o
	}
	for _, c := range target.Hash.Columns {
		o.Columns = append(o.Columns, target.Schema.Field(c).Name)
	}
	o.Parts = parts
	return o
}

// sourceOf says for people where the rows of a version's chunks came from; empty: nobody knows. It is asked chunk by chunk.
func sourceOf(v *catalog.TableVersion) func(chunk int) string {
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

// sourcesOf says so of all of a table's, each once.
func sourcesOf(v *catalog.TableVersion) string {
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

// explainLoss says what is lost of the table of an error, as this node knows it now.
func (e *Engine) explainLoss(err *DamagedError) reader.Loss {
	schema, name, _ := strings.Cut(err.Table, ".")
	v, ok := e.catalog.Applied().Table(catalog.TableName{Schema: schema, Name: name})
	if !ok {
		return reader.Loss{}
	}
	list, failed := e.lostChunks(context.Background(), v, unreadable)
	if failed != nil || len(list) == 0 {
		return reader.Loss{}
	}
	var known, orphans []lostChunk
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
	l.Reload = fmt.Sprintf("ALTER TABLE %s RELOAD makes them anew from their source: %s.", table, sourcesOf(v))
	if len(orphans) > 0 {
		l.Reload = fmt.Sprintf("ALTER TABLE %s RELOAD makes %s anew from the source: %s. The rows of %s have no source on record.", table, chunksOf(known), sourcesOf(v), chunksOf(orphans))
	}
	if errors.Is(err.Cause, catalog.ErrLenderGone) {
		l.Reload += fmt.Sprintf(" Or start %s again.", nodesOf(list))
	}
	return l
}
