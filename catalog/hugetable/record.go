package hugetable

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/catalog/statistics"
	"github.com/csmsql/csmsql/internal/enumeration"
)

// recordFormat is the number that a record carries: the second if the table has, or had, more than one replica, the
// third if rows of its chunks are deleted, the fourth if such rows were left out, the fifth if the table was altered,
// the sixth if chunks have orders, the seventh if it keeps former versions, the eighth if columns are of user-defined
// types, the ninth if it holds a query's rows, the tenth if it is a clone. A program that does not know of them would
// lend memory again that is in use, or show the rows, or delete others, or take one column of a chunk for another, or
// an order for a column, or show codes for labels, or change rows that must not be changed. Beside these there is
// recordFormatCompressed.
const (
	recordFormat, recordFormatReplicas, recordFormatDeleted        = 1, 2, 3
	recordFormatPurged, recordFormatNumbered, recordFormatOrdered  = 4, 5, 6
	recordFormatKeeps, recordFormatEnumerated, recordFormatDerived = 7, 8, 9
	recordFormatCloned                                             = 10
)

// Field numbers of TableRecord and PageRef in catalog.proto.
const (
	recordFieldFormat, recordID, recordSchemaName, recordName = 1, 2, 3, 4
	recordColumns, recordCreated, recordVersion               = 5, 7, 8 // 6 was a text for people
	recordPages, recordSummaries, recordPlacement             = 9, 10, 11
	recordReplicas, recordOrigins, recordNumbering            = 12, 13, 14
	recordChanged, recordRenumbered, recordPurges             = 15, 16, 17
	recordAge, recordVersions, recordOrdered                  = 18, 19, 20
	recordSince, recordAt, recordCause                        = 21, 22, 23
	recordFamily, recordCompressed                            = 24, 25
	refID, refChunks, refFirstRow, refRows, refBytes          = 1, 2, 3, 4, 5
	refDeleted, refBehind                                     = 6, 7
)

// Encode writes the version's record: everything but the pages' contents. Preconditions: Seal made the version.
func (v *Version) Encode() ([]byte, error) {
	w := message.Writer{}
	format := uint64(recordFormat)
	switch {
	case v.table.Family != 0:
		format = recordFormatCloned
	case derived(v.table.Columns):
		format = recordFormatDerived
	case enumeration.Has(v.table.Columns):
		format = recordFormatEnumerated
	case v.table.Retention.Keeps():
		format = recordFormatKeeps
	case v.ordered:
		format = recordFormatOrdered
	case v.display != nil:
		format = recordFormatNumbered
	case v.purged():
		format = recordFormatPurged
	case v.deleted > 0:
		format = recordFormatDeleted
	case v.table.Replicas > 0:
		format = recordFormatReplicas
	}
	w.Uint(recordFieldFormat, format)
	w.Uint(recordID, uint64(v.table.ID))
	w.OptionalString(recordSchemaName, v.table.Name.Schema)
	w.OptionalString(recordName, v.table.Name.Name)
	schema, err := descriptor.AppendSchema(nil, v.table.Columns)
	if err != nil {
		return nil, fmt.Errorf("columns of table %v: %w", v.table.Name, err)
	}
	w.Bytes(recordColumns, schema)
	w.Int(recordCreated, v.table.CreatedAt.UnixMicro())
	w.OptionalUint(recordVersion, v.number)
	for _, p := range v.pages {
		start := w.Begin(recordPages)
		w.Bytes(refID, p.ID[:])
		w.Uint(refChunks, uint64(p.Chunks))
		w.Int(refFirstRow, p.FirstRow)
		w.Int(refRows, p.Rows)
		w.Int(refBytes, p.Bytes)
		w.Int(refDeleted, p.Deleted)
		w.Int(refBehind, p.behind)
		w.End(start)
	}
	for i := range v.columns {
		appendSummary(&w, recordSummaries, &v.columns[i])
	}
	w.OptionalString(recordPlacement, v.table.Placement)
	w.OptionalUint(recordReplicas, uint64(v.table.Replicas))
	v.encodeOrigins(&w)
	w.OptionalUint(recordNumbering, v.numbering)
	w.OptionalUint(recordChanged, v.changed)
	w.OptionalUint(recordRenumbered, v.renumbered)
	v.encodePurges(&w)
	if v.table.Retention.Keeps() {
		v.encodeRetention(&w)
	} else if format >= recordFormatEnumerated && v.ordered {
		w.Uint(recordOrdered, 1)
	}
	w.OptionalUint(recordFamily, uint64(v.table.Family))
	return w.Buf, nil
}

// encodeRetention writes what a record of its format has more than others.
func (v *Version) encodeRetention(w *message.Writer) {
	w.OptionalUint(recordAge, uint64(v.table.Retention.Age/time.Microsecond))
	w.OptionalUint(recordVersions, uint64(v.table.Retention.Versions))
	if v.ordered {
		w.Uint(recordOrdered, 1)
	}
	w.OptionalUint(recordSince, v.contents.since)
	w.Int(recordAt, v.contents.at)
	w.OptionalString(recordCause, v.contents.cause)
}

// readRetention reads a field of those; false: it is none of them.
func (v *Version) readRetention(r *message.Reader) bool {
	switch r.Field() {
	case recordAge:
		age := r.Uint()
		if age > math.MaxInt64/uint64(time.Microsecond) {
			r.Fail(fmt.Errorf("versions are kept for %d microseconds", age))
		}
		v.table.Retention.Age = time.Duration(age) * time.Microsecond
	case recordVersions:
		versions := r.Uint()
		if versions > math.MaxInt32 {
			r.Fail(fmt.Errorf("%d versions are kept", versions))
		}
		v.table.Retention.Versions = int(versions)
	case recordOrdered:
		v.ordered = r.Uint() != 0
	case recordSince:
		v.contents.since = r.Uint()
	case recordAt:
		v.contents.at = r.Int()
	case recordCause:
		v.contents.cause = r.String()
	default:
		return false
	}
	return true
}

// Decode reads a record and checks that the pages' rows are contiguous from 0 (H1). Contents come from source later.
func Decode(data []byte, source *Source) (*Version, error) {
	data, compressed, err := expandRecord(data)
	if err != nil {
		return nil, err
	}
	v := &Version{source: source, compressed: compressed}
	r := message.NewReader(data)
	var format uint64
	for r.Next() {
		switch r.Field() {
		case recordFieldFormat:
			format = r.Uint()
		case recordID:
			v.table.ID = TableID(r.Uint())
		case recordSchemaName:
			v.table.Name.Schema = r.String()
		case recordName:
			v.table.Name.Name = r.String()
		case recordColumns:
			schema, err := descriptor.DecodeSchema(r.Bytes())
			r.Fail(err)
			v.table.Columns = schema
		case recordCreated:
			v.table.CreatedAt = time.UnixMicro(r.Int()).UTC()
		case recordVersion:
			v.number = r.Uint()
		case recordPlacement:
			v.table.Placement = r.String()
		case recordReplicas:
			replicas := r.Uint()
			if replicas > descriptor.MaxReplicas {
				r.Fail(fmt.Errorf("%d replicas", replicas))
				break
			}
			v.table.Replicas = int(replicas)
		case recordNumbering:
			v.numbering = r.Uint()
		case recordOrigins:
			r.Fail(v.readOrigin(r.Sub()))
		case recordChanged:
			v.changed = r.Uint()
		case recordRenumbered:
			v.renumbered = r.Uint()
		case recordPurges:
			r.Fail(v.readPurge(r.Sub()))
		case recordFamily:
			v.table.Family = TableID(r.Uint())
		case recordPages:
			r.Fail(v.readRef(r.Sub()))
		case recordSummaries:
			if len(v.columns) >= descriptor.MaxNodes {
				r.Fail(fmt.Errorf("summaries of more than %d columns", descriptor.MaxNodes))
				break
			}
			s, err := readSummary(r.Sub())
			r.Fail(err)
			v.columns = append(v.columns, s)
		default:
			if !v.readRetention(&r) {
				r.Skip()
			}
		}
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%w: record of table %v: %w", ErrCorrupt, v.table.Name, err)
	}
	if err := v.checkRecord(format); err != nil {
		return v, err
	}
	v.ordered = v.ordered || format == recordFormatOrdered
	if v.display, err = displayOf(v.table.Columns); err != nil {
		return v, fmt.Errorf("record of table %v: %w", v.table.Name, err)
	}
	return v, nil
}

// purged reports whether rows were left out that readers may know of.
func (v *Version) purged() bool {
	return len(v.purges) > 0 || slices.ContainsFunc(v.pages, func(ref PageRef) bool { return ref.behind > 0 })
}

func (v *Version) checkRecord(format uint64) error {
	switch {
	case format < recordFormat || format > recordFormatCloned:
		return fmt.Errorf("%w: a table record of format %d, this program knows %d to %d", ErrCorrupt,
			format, recordFormat,
			recordFormatCompressed)
	case format < recordFormatEnumerated && (format == recordFormatKeeps) != v.table.Retention.Keeps():
		return fmt.Errorf("%w: record of table %v has format %d and keeps %d versions", ErrCorrupt,
			v.table.Name, format,
			v.table.Retention.Versions)
	case format < recordFormatNumbered && ((v.deleted > 0) != (format == recordFormatDeleted) && !v.purged() ||
		v.purged() != (format == recordFormatPurged)):
		return fmt.Errorf("%w: record of table %v has %d deleted rows and format %d", ErrCorrupt,
			v.table.Name, v.deleted,
			format)
	case v.table.ID == 0 || v.table.Name.Name == "" || v.table.Columns == nil:
		return fmt.Errorf("%w: a table record without identity, name or columns", ErrCorrupt)
	case format < recordFormatOrdered && Numbered(v.table.Columns) != (format == recordFormatNumbered):
		return fmt.Errorf("%w: record of table %v has format %d and the columns' numbers, or not", ErrCorrupt,
			v.table.Name, format)
	case (v.table.Family != 0) != (format == recordFormatCloned):
		return fmt.Errorf("%w: record of table %v has format %d and shares chunks of table %d, or not", ErrCorrupt,
			v.table.Name, format, v.table.Family)
	case format < recordFormatCloned && derived(v.table.Columns) != (format == recordFormatDerived):
		return fmt.Errorf("%w: record of table %v has format %d and the query of its rows, or not", ErrCorrupt,
			v.table.Name, format)
	case format < recordFormatDerived && enumeration.Has(v.table.Columns) != (format == recordFormatEnumerated):
		return fmt.Errorf("%w: record of table %v has format %d and columns of user-defined types, or not",
			ErrCorrupt, v.table.Name, format)
	case len(v.columns) != v.table.Columns.NumFields():
		return fmt.Errorf("%w: record of table %v has %d summaries for %d columns", ErrCorrupt,
			v.table.Name, len(v.columns), v.table.Columns.NumFields())
	}
	for k := range v.columns {
		if v.columns[k].Rows == 0 {
			v.columns[k] = statistics.Summary{}
		}
	}
	return v.checkOrigins()
}

func (v *Version) readRef(r message.Reader) error {
	ref := PageRef{firstChunk: v.chunks}
	for r.Next() {
		switch r.Field() {
		case refID:
			if b := r.Bytes(); len(b) == len(ref.ID) {
				ref.ID = PageID(b)
			}
		case refChunks:
			chunks := r.Uint()
			if chunks > PageChunks {
				return fmt.Errorf("a page of %d chunks", chunks)
			}
			ref.Chunks = int(chunks)
		case refFirstRow:
			ref.FirstRow = r.Int()
		case refRows:
			ref.Rows = r.Int()
		case refBytes:
			ref.Bytes = r.Int()
		case refDeleted:
			ref.Deleted = r.Int()
		case refBehind:
			ref.behind = r.Int()
		default:
			r.Skip()
		}
	}
	if err := r.Err(); err != nil {
		return err
	}
	if ref.Chunks == 0 || ref.Bytes < 0 {
		return fmt.Errorf("a page without chunks or size")
	}
	if err := follows("page", len(v.pages), v.rows, ref.FirstRow, ref.Rows); err != nil {
		return err
	}
	if ref.behind < 0 || ref.behind > descriptor.MaxRows {
		return fmt.Errorf("a page that is %d rows behind", ref.behind)
	}
	if ref.Deleted < 0 || ref.Deleted > ref.Rows {
		return fmt.Errorf("a page of %d rows, of which %d are deleted", ref.Rows, ref.Deleted)
	}
	v.pages = append(v.pages, ref)
	v.chunks += ref.Chunks
	v.deleted += ref.Deleted
	v.rows += ref.Rows
	v.bytes += ref.Bytes
	return nil
}
