package hugetable

import (
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/internal/enumeration"
)

// TableID names a table for ever; a table that is dropped and made again is another one.
type TableID uint64

// TableName is a qualified name, case already folded by the caller.
type TableName struct{ Schema, Name string }

func (n TableName) String() string { return n.Schema + "." + n.Name }

// Compare orders names by schema.
func (n TableName) Compare(other TableName) int {
	if order := strings.Compare(n.Schema, other.Schema); order != 0 {
		return order
	}
	return strings.Compare(n.Name, other.Name)
}

// Table is what all versions of a table have in common.
type Table struct {
	ID   TableID
	Name TableName
	// Columns is the logical schema that users see; a chunk's physical types may differ (see Stores).
	Columns   *arrow.Schema
	CreatedAt time.Time
	// Placement says on which nodes rows are to lie, in words that only the layer above understands; empty:
	// wherever they are written. All chunks of a version were put there under its placement, or moved since.
	Placement string
	// Replicas is how many replicas each chunk is to have, in all; 0: one, and it never was to have more.
	Replicas int
	// Retention says which former versions are kept.
	Retention Retention
	// Family is the table of whose chunks the first ones of a clone were, or of what that was a clone of: all clones
	// of one table have it, and extents may be in pages of any of them. 0: it was made without another one's chunks.
	Family TableID
}

// Stores reports whether a chunk column of the physical type can hold a table column of the logical type: the same
// type, codes of a user-defined one, text or bytes in any layout or as a dictionary, a decimal of the same precision
// and scale in any width; nested types when their children do. Names inside lists and maps mean nothing, field names of
// structs do.
func Stores(logical, physical arrow.DataType) bool {
	if arrow.TypeEqual(logical, physical) {
		return true
	}
	if t, ok := logical.(*enumeration.Type); ok {
		return arrow.TypeEqual(t.StorageType(), physical)
	}
	if d, ok := physical.(*arrow.DictionaryType); ok {
		return Stores(logical, d.ValueType)
	}
	if d, ok := logical.(*arrow.DictionaryType); ok {
		return Stores(d.ValueType, physical)
	}
	switch l := logical.(type) {
	case arrow.BinaryDataType:
		p, ok := physical.(arrow.BinaryDataType)
		return ok && l.IsUtf8() == p.IsUtf8()
	case arrow.DecimalType:
		p, ok := physical.(arrow.DecimalType)
		return ok && l.GetPrecision() == p.GetPrecision() && l.GetScale() == p.GetScale()
	case arrow.NestedType:
		p, ok := physical.(arrow.NestedType)
		return ok && storesNested(l, p)
	}
	return false
}

func storesNested(logical, physical arrow.NestedType) bool {
	if logical.ID() != physical.ID() || logical.NumFields() != physical.NumFields() {
		return false
	}
	if l, ok := logical.(*arrow.FixedSizeListType); ok && l.Len() != physical.(*arrow.FixedSizeListType).Len() {
		return false
	}
	if l, ok := logical.(arrow.UnionType); ok && !slices.Equal(l.TypeCodes(), physical.(arrow.UnionType).TypeCodes()) {
		return false
	}
	_, list := logical.(arrow.ListLikeType)
	for i, l := range logical.Fields() {
		p := physical.Fields()[i]
		if (!list && l.Name != p.Name) || !Stores(l.Type, p.Type) {
			return false
		}
	}
	return true
}
