package snapshot

import (
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// former is the version of a table that a name of package past means; nil, and Refused, if it is not to be had.
func (v *View) former(name string) *catalog.TableVersion {
	v.Reads.Note(past.Schema, name)
	alias := catalog.TableName{Schema: past.Schema, Name: name}
	if version, ok := v.Contents.Table(alias); ok { // of a part of another node's statement
		return version
	}
	_, version, err := v.meant(name)
	if err != nil {
		v.Refused = err
		return nil
	}
	return v.inTypesOfNow(version.Alias(alias))
}

// inTypesOfNow is a former version whose columns of user-defined types have them as they are now: its codes mean the
// same labels, which the statement compares with those of other tables.
func (v *View) inTypesOfNow(version *catalog.TableVersion) *catalog.TableVersion {
	columns := version.Table().Columns
	if !enumeration.Has(columns) {
		return version
	}
	now := InTypesOf(v.Contents, columns)
	if enumeration.SameStates(columns, now) {
		return version
	}
	next, err := version.Redeclare(now)
	if err != nil {
		v.Refused = err
		return nil
	}
	return next
}

// InTypesOf are columns whose user-defined types are those that contents have.
func InTypesOf(contents *catalog.Contents, columns *arrow.Schema) *arrow.Schema {
	fields, meta := columns.Fields(), columns.Metadata()
	for i, f := range fields {
		if t := enumeration.Of(f); t != nil {
			if now, ok := contents.TypeOf(catalog.TableID(t.Number())); ok {
				fields[i].Type = now.Of()
			}
		}
	}
	return arrow.NewSchema(fields, &meta)
}

// formerNamed is such a name with the schema of its table, for a text that is kept.
func (v *View) formerNamed(name string) (catalog.TableName, bool) {
	ref, version, err := v.meant(name)
	if err != nil {
		v.Refused = err
		return catalog.TableName{}, false
	}
	table := version.Table().Name
	if now, ok := v.Contents.TableOf(version.Table().ID, table); ok {
		table = now.Table().Name
	}
	ref.Database, ref.Schema, ref.Name = "", table.Schema, table.Name
	return catalog.TableName{Schema: past.Schema, Name: ref.Encoded()}, true
}

// meant finds what the name means. What the transaction itself has done is no version yet.
func (v *View) meant(name string) (past.Reference, *catalog.TableVersion, error) {
	ref, ok := past.Parse(name)
	if !ok {
		return ref, nil, sqlerror.New("42P01", "relation %q does not exist", past.Schema+"."+name)
	}
	now := v.Lookup(ref.Database, ref.Schema, ref.Name)
	if now == nil {
		return ref, nil, v.noTable(ref)
	}
	version, err := v.Former(now, ref)
	return ref, version, err
}

// Former is the committed version of a table that a reference means.
func (v *View) Former(now *catalog.TableVersion, ref past.Reference) (*catalog.TableVersion, error) {
	committed := v.Contents
	if v.Lease != nil && v.Lease.Snapshot != nil {
		committed = v.Lease.Snapshot.Contents
	}
	return Former(committed, now, ref, v.Zone)
}

// noTable says why AT does not go with a name.
func (v *View) noTable(ref past.Reference) error {
	kind := ""
	switch {
	case strings.EqualFold(ref.Schema, "csm"), strings.EqualFold(ref.Schema, "pg_catalog"),
		strings.EqualFold(ref.Schema, "information_schema"):
		kind = "system table"
	case v.Own.Has(ref.Name):
		kind = "temporary table"
	case v.LookupView(ref.Database, ref.Schema, ref.Name) != nil:
		kind = "view"
	default:
		return sqlerror.New("42P01", "relation %q does not exist", ref.Table())
	}
	return sqlerror.New("0A000", "AT (…) is not supported for %s %q: only tables have versions", kind, ref.Table())
}

// Former finds the version of a table that a reference means.
func Former(committed *catalog.Contents, now *catalog.TableVersion, ref past.Reference,
	zone string) (*catalog.TableVersion, error) {
	var found catalog.Kept
	var err error
	what, state := fmt.Sprintf("version %d", ref.Number), "72000"
	if ref.Number > 0 {
		if ref.Number > now.Version() {
			state = "22023"
		}
		found, err = committed.VersionNumbered(now, ref.Number)
	} else {
		at, bad := ref.At(zone)
		if bad != nil {
			return nil, bad
		}
		what = "version of " + at.UTC().Format(timeLayout)
		found, err = committed.VersionAt(now, at)
	}
	if err == nil {
		return found.TableVersion, nil
	}
	return nil, sqlerror.New(state, "table %q has no %s", now.Table().Name.String(), what).
		WithHint(thereAre(committed.Versions(now)))
}

const timeLayout = "2006-01-02 15:04:05.999999-07"

// thereAre names versions, of which the last one is the present one.
func thereAre(list []catalog.Kept) string {
	if len(list) == 0 {
		return "It is not committed yet."
	}
	first, last := list[0], list[len(list)-1]
	number := first.Version()
	if since := first.SinceNumber(); since > 0 {
		number = since
	}
	text := fmt.Sprintf("There is version %d", last.Version())
	if number < last.Version() {
		text = fmt.Sprintf("There are versions %d to %d", number, last.Version())
	}
	if from := first.CommittedAt(); !from.IsZero() {
		text += ", from " + from.In(time.UTC).Format(timeLayout) + " on"
	}
	if !last.Table().Retention.Keeps() {
		return text + ". The table keeps no former ones: " +
			"ALTER TABLE … SET (retention = '7 days') has it keep those to come."
	}
	return text + ". csm.versions lists them."
}
