package duckdb

/*
#include <stdlib.h>
#include "scan.h"
*/
import "C"

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/enumeration"
)

// Rows is a running statement's result, streamed: DuckDB's threads work ahead by a bounded buffer.
type Rows struct {
	statement *Statement
	ctx       context.Context
	result    *C.struct_csm_result
	raw       *arrow.Schema // as DuckDB exports it
	schema    *arrow.Schema // as users see it; the same pointer as raw where nothing differs
	stop      func()
	casts     *Statement // what keeps a promise in the statement's place, see keep
	begun     bool       // a batch was handed out
	ended     bool       // nothing is left to fetch
}

// Schema of the rows that the statement returns. Strings are utf8, decimals up to 18 digits are decimal64, a HUGEINT is
// decimal128(38, 0), an ENUM is a dictionary.
func (s *Statement) Schema() (*arrow.Schema, error) {
	raw, err := s.rawSchema()
	if err != nil {
		return nil, err
	}
	return normal.Schema(raw), nil
}

// Stored is the schema of a table of the rows, in which types that rows show as others are themselves (normal.Table).
func (s *Statement) Stored(hugeint bool) (*arrow.Schema, error) {
	raw, err := s.rawSchema()
	return normal.Table(raw, hugeint), err
}

func (s *Statement) rawSchema() (*arrow.Schema, error) {
	p := s.columns()
	names := p.names
	if strings.Contains(s.written, enumeration.MarkHead) {
		names = slices.Clone(names)
		for i := range names {
			names[i] = withNames(names[i])
		}
	}
	schema, err := s.connection.arrowSchema(p.types, names)
	if err != nil || !slices.ContainsFunc(schema.Fields(), func(f arrow.Field) bool { return hasEnum(f.Type) }) {
		return schema, err
	}
	fields := schema.Fields()
	for i := range fields {
		fields[i] = marked(fields[i], p.types[i])
	}
	return arrow.NewSchema(fields, nil), nil
}

func (c *Connection) arrowSchema(types []bindings.LogicalType, names []string) (*arrow.Schema, error) {
	n := len(types)
	if n == 0 {
		return arrow.NewSchema(nil, nil), nil
	}
	var options bindings.ArrowOptions
	bindings.ConnectionGetArrowOptions(c.handle, &options)
	defer bindings.DestroyArrowOptions(&options)
	width := C.size_t(unsafe.Sizeof(uintptr(0)))
	cTypes := (*unsafe.Pointer)(C.calloc(C.size_t(n), width))
	cNames := (**C.char)(C.calloc(C.size_t(n), width))
	defer C.free(unsafe.Pointer(cTypes))
	defer C.free(unsafe.Pointer(cNames))
	for i := range n {
		unsafe.Slice(cTypes, n)[i] = types[i].Ptr // SAFETY: C memory of n entries
		name := C.CString(names[i])
		defer C.free(unsafe.Pointer(name))
		unsafe.Slice(cNames, n)[i] = name
	}
	var schema C.struct_ArrowSchema
	var failure *C.char
	if C.csm_schema(C.duckdb_arrow_options(options.Ptr), cTypes, cNames, C.idx_t(n), &schema, &failure) != 0 {
		return nil, takeError(failure)
	}
	return normal.WithMaps(cdata.ImportCArrowSchema((*cdata.CArrowSchema)(unsafe.Pointer(&schema)))) // SAFETY: one layout
}

// schemas are the columns as DuckDB exports them, and as users see them: one pointer where nothing differs.
func (s *Statement) schemas() (raw, shown *arrow.Schema, err error) {
	if s.raw != nil {
		return s.raw, s.normal, nil
	}
	if raw, err = s.rawSchema(); err != nil {
		return nil, nil, err
	}
	shown = normal.Schema(raw)
	if !slices.ContainsFunc(raw.Fields(), zoned) {
		s.raw, s.normal = raw, shown
	}
	return raw, shown, nil
}

// zoned reports whether a column's type names the session's time zone, which may change.
func zoned(f arrow.Field) bool {
	switch t := f.Type.(type) {
	case *arrow.TimestampType:
		return t.TimeZone != ""
	case arrow.NestedType:
		return slices.ContainsFunc(t.Fields(), zoned)
	case *arrow.DictionaryType:
		return zoned(arrow.Field{Type: t.ValueType})
	}
	return false
}

func (s *Statement) start(ctx context.Context) (*Rows, error) {
	raw, schema, err := s.schemas()
	if err != nil {
		return nil, err
	}
	var result *C.struct_csm_result
	var failure *C.char
	reads := C._Bool(s.Kind() == KindSelect || s.Kind() == KindExplain)
	if C.csm_execute(s.connection.session, C.duckdb_prepared_statement(s.handle.Ptr), reads, &result, &failure) != 0 {
		return nil, s.explain(ctx, takeError(failure))
	}
	if !s.steady && !s.columns().kept(result) {
		return s.keep(ctx, result)
	}
	return &Rows{statement: s, ctx: ctx, result: result, raw: raw, schema: schema}, nil
}

// explain prefers the context's own reason, or the warden's, or what really failed, over DuckDB's "Interrupted!".
func (s *Statement) explain(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && IsCanceled(err) {
		return canceled(cause)
	}
	if e, ok := err.(*Error); ok && s.casts && e.State == "22003" {
		e.HintText, e.Byte = castHint, -1
	}
	err = labelError(s.connection.orExhausted(err), s.written)
	if e, ok := err.(*Error); ok && e.Kind == kindInternal && e.HintText == "" {
		e.HintText = "This is a fault of DuckDB's own. Write the statement in another way."
	}
	if IsCanceled(err) && !interrupted(s.connection.session) {
		return s.lost(ctx)
	}
	return err
}

// lost finds the error that DuckDB 1.5 lost: the thread that fails interrupts the others of its statement, and the
// one that fetches rows takes that for the client's wish (SimpleBufferedData::ExecuteTaskInternal looks at the flag
// before the executor's errors). A scan's error was noted; what an operator found, it finds again when the
// statement runs once more, without a result that is fetched.
func (s *Statement) lost(ctx context.Context) error {
	if err := scanFailure(s.connection.session); err != nil {
		return err
	}
	var e *Error
	if errors.As(s.again(ctx), &e) && e.State == stateAborted {
		errors.As(s.againInAnother(ctx), &e)
	}
	if e != nil && e.State != stateAborted {
		e.Byte = -1 // it counts from the beginning of another text
		return e
	}
	return &Error{Message: "a part of the statement failed, and its reason was lost", State: "XX000", Byte: -1,
		HintText: "Run the statement again: the reason may be reported then."}
}

// stateAborted is the SQLSTATE of every statement in a transaction of DuckDB in which one has failed.
const stateAborted = "25P02"

// Aborted reports whether an error has aborted the transaction that the connection is in: not that there is no memory
// now. DuckDB forgives what is wrong with a text, and not a constant without a value, which it finds while it plans.
func (c *Connection) Aborted() bool {
	var e *Error
	return errors.As(c.Exec("SELECT 1"), &e) && e.State == stateAborted
}

// againInAnother is again where the statement has aborted the transaction that it ran in: in another one, which is
// aborted in turn, so that the connection is left as it was. What the first one did to temporary objects is lost, and a
// statement that needs it finds no error here.
func (s *Statement) againInAnother(ctx context.Context) error {
	c := s.connection
	if c.Exec("ROLLBACK") != nil || c.Exec("BEGIN TRANSACTION") != nil {
		return nil // that is not what went wrong
	}
	failed := s.again(ctx)
	if !c.Aborted() { // it was not prepared, or did not fail
		_ = c.Exec("SELECT error('aborted') FROM range(1)")
	}
	return failed
}

// again runs the statement, if it changes nothing, drops its rows, and returns its error; nil also where it cannot be
// run so.
func (s *Statement) again(ctx context.Context) error {
	if s.Kind() != KindSelect {
		return nil
	}
	statement, err := s.connection.Prepare("EXPLAIN ANALYZE " + s.sql)
	if err != nil {
		return nil //nolint:nilerr // DuckDB explains no SHOW and no PIVOT: that is not what went wrong
	}
	defer statement.Close()
	if statement.Bind(s.args) != nil {
		return nil
	}
	rows, err := statement.Execute(ctx)
	if err == nil {
		rows.Close()
	}
	return err
}

// Schema of the batches.
func (r *Rows) Schema() *arrow.Schema { return r.schema }

// Next gives the next batch (at most 2,048 rows), which the caller releases, or io.EOF.
func (r *Rows) Next() (arrow.RecordBatch, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, canceled(err)
	}
	var out C.struct_ArrowArray
	var failure *C.char
	switch C.csm_fetch(r.result, &out, &failure) {
	case 0:
		r.ended = true
		r.unwatch()
		return nil, io.EOF
	case 1:
		r.begun = true
		batch, err := cdata.ImportCRecordBatchWithSchema((*cdata.CArrowArray)(unsafe.Pointer(&out)), r.raw) // SAFETY: one layout
		if err != nil {
			return nil, err
		}
		if late := r.ctx.Err(); late != nil { // DuckDB looks only between rows whether it is interrupted
			batch.Release()
			return nil, canceled(late)
		}
		return normal.Batch(batch, r.raw, r.schema), nil
	}
	err := r.statement.explain(r.ctx, takeError(failure))
	if r.begun || !r.statement.replan(err) {
		return nil, err
	}
	rows, err := r.statement.restart(r.ctx)
	if err != nil {
		return nil, err
	}
	C.csm_result_destroy(r.result)
	r.statement, r.result, r.raw, r.schema, r.casts = rows.statement, rows.result, rows.raw, rows.schema, rows.casts
	return r.Next()
}

// RowsChanged counts what an INSERT, UPDATE or DELETE of DuckDB's own (temporary) tables changed.
func (r *Rows) RowsChanged() int64 { return int64(C.csm_rows_changed(r.result)) }

// unwatch ends the watch over the context: nothing is left to interrupt.
func (r *Rows) unwatch() {
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
}

// Close ends the statement, finished or not.
func (r *Rows) Close() {
	if r.result == nil {
		return
	}
	r.unwatch()
	C.csm_result_destroy(r.result)
	r.result = nil
	r.statement.connection.end()
	if r.casts != nil {
		r.casts.Close()
	}
	if !r.ended {
		// DuckDB keeps an abandoned statement, its threads and its scans until the connection's next statement (D1).
		r.statement.connection.settle()
	}
}
