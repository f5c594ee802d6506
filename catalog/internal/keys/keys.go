// Package keys is under which keys of the store the catalog keeps what.
//
//	table/<number>    name/<schema> 0 <name>    kept/<table>/<number>    node/<name>
//
// # Invariants
//
//   - SK1: no key is that of two things. Names cannot contain a zero byte, so that the separator is unambiguous.
//
// # What it does not do
//
// What lies there package record says, and package catalog what it means.
package keys

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/memregion"
)

// The keys, and what those of one kind begin with.
const (
	Format         = "meta/format"
	Identity       = "meta/identities"
	Commit         = "meta/commit"
	SchemaPrefix   = "schema/"
	NamePrefix     = "name/"
	TablePrefix    = "table/"
	ViewPrefix     = "view/"
	TypePrefix     = "type/"
	PagePrefix     = "chunks/" // before all that nodes follow, which are one range (see pages)
	OldPagePrefix  = "page/"   // of pages of format 1, amid what nodes follow
	RegionPrefix   = "region/"
	NodePrefix     = "node/"
	PresencePrefix = "presence/"
	ReaderPrefix   = "reader/"  // by relation: the newest view that reads it
	ColumnsPrefix  = "columns/" // by table: the newest change of its columns
	OutcomePrefix  = "outcome/" // by node: the token of its last commit
	CounterPrefix  = "counter/" // by counter: how far it has been given out
	KeptPrefix     = "kept/"    // by table and number: versions that were the table's
	SetPrefix      = "set/"     // by counter: the last time that it was set, and not only given out
	NameSeparator  = "\x00"
	NameBytesMost  = 255
)

func Schema(name string) string           { return SchemaPrefix + name }
func NamesOf(schema string) string        { return NamePrefix + schema + NameSeparator }
func Name(n hugetable.TableName) string   { return NamesOf(n.Schema) + n.Name }
func Table(id hugetable.TableID) string   { return TablePrefix + hexadecimal(uint64(id)) }
func View(id hugetable.TableID) string    { return ViewPrefix + hexadecimal(uint64(id)) }
func Type(id hugetable.TableID) string    { return TypePrefix + hexadecimal(uint64(id)) }
func Reader(id hugetable.TableID) string  { return ReaderPrefix + hexadecimal(uint64(id)) }
func Columns(id hugetable.TableID) string { return ColumnsPrefix + hexadecimal(uint64(id)) }
func Counter(id record.CounterID) string  { return CounterPrefix + hexadecimal(uint64(id)) }
func Set(id record.CounterID) string      { return SetPrefix + hexadecimal(uint64(id)) }
func Page(id hugetable.PageID) string     { return PagePrefix + id.String() }
func OldPage(id hugetable.PageID) string  { return OldPagePrefix + id.String() }
func Region(id memregion.RegionID) string { return RegionPrefix + hexadecimal(uint64(id)) }
func Node(name string) string             { return NodePrefix + name }
func Presence(name string) string         { return PresencePrefix + name }
func hexadecimal(v uint64) string         { return fmt.Sprintf("%016x", v) }

// Kept names a version of a table.
type Kept struct {
	Table  hugetable.TableID
	Number uint64
}

// Compare orders those of one table by their numbers.
func (k Kept) Compare(o Kept) int {
	return cmp.Or(cmp.Compare(k.Table, o.Table), cmp.Compare(k.Number, o.Number))
}

// Key is where it is kept.
func (k Kept) Key() string {
	return KeptPrefix + hexadecimal(uint64(k.Table)) + "/" + hexadecimal(k.Number)
}

// ParseKept is the inverse of Key, behind the prefix.
func ParseKept(rest string) (k Kept, err error) {
	table, number, _ := strings.Cut(rest, "/")
	id, err := strconv.ParseUint(table, 16, 64)
	if err == nil {
		k.Number, err = strconv.ParseUint(number, 16, 64)
	}
	k.Table = hugetable.TableID(id)
	return k, err
}

// Note is where rows of a table are on record that are in no chunk yet. Programs that do not know notes take one for a
// table's record, and refuse its format.
func Note(id hugetable.TableID, number uint64) string {
	return Table(id) + "/" + hexadecimal(number)
}

// ParseNote is the inverse of Note; false: it is another key.
func ParseNote(key string) (id hugetable.TableID, number uint64, is bool) {
	table, note, is := strings.Cut(strings.TrimPrefix(key, TablePrefix), "/")
	n, err := strconv.ParseUint(table, 16, 64)
	number, wrong := strconv.ParseUint(note, 16, 64)
	return hugetable.TableID(n), number, is && wrong == nil && err == nil && strings.HasPrefix(key, TablePrefix)
}

// Wrong is what is wrong with a name, empty if nothing is.
func Wrong(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > NameBytesMost:
		return fmt.Sprintf("%q has %d bytes, %d are allowed", name[:32]+"…", len(name), NameBytesMost)
	case strings.Contains(name, NameSeparator):
		return fmt.Sprintf("%q contains a zero byte", name)
	}
	return ""
}
