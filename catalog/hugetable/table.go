package hugetable

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// TableID names a table for ever; a table that is dropped and made again is another one.
type TableID uint64

// TableName is a qualified name, case already folded by the caller.
type TableName struct{ Schema, Name string }

func (n TableName) String() string { return n.Schema + "." + n.Name }

// Less orders names by schema, then name.
func (n TableName) Less(o TableName) bool {
	if n.Schema != o.Schema {
		return n.Schema < o.Schema
	}
	return n.Name < o.Name
}

// Table is what all versions of a table have in common.
type Table struct {
	ID   TableID
	Name TableName
	// Columns is the logical schema that users see; a chunk's physical types may differ (see Stores).
	Columns *arrow.Schema
	// Source says where the rows came from (files or a query), so that they can come from there again.
	Source    string
	CreatedAt time.Time
}

// Stores tells whether a chunk column of the physical type can hold a table column of the logical type: the same type,
// text or bytes in any layout or as a dictionary, a decimal of the same precision and scale in any width.
func Stores(logical, physical arrow.DataType) bool {
	if arrow.TypeEqual(logical, physical) {
		return true
	}
	if d, ok := physical.(*arrow.DictionaryType); ok {
		physical = d.ValueType
	}
	if l, ok := logical.(*arrow.DictionaryType); ok {
		logical = l.ValueType
	}
	if arrow.TypeEqual(logical, physical) {
		return true
	}
	if l, ok := logical.(arrow.BinaryDataType); ok {
		p, ok := physical.(arrow.BinaryDataType)
		return ok && l.IsUtf8() == p.IsUtf8()
	}
	l, lok := logical.(arrow.DecimalType)
	p, pok := physical.(arrow.DecimalType)
	return lok && pok && l.GetPrecision() == p.GetPrecision() && l.GetScale() == p.GetScale()
}
