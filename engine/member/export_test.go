package member

import (
	"log/slog"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/memregion"
)

// Holding is a node that has a book, and nothing else.
func Holding(log *slog.Logger) *Node { return &Node{config: Config{Log: log}} }

// Joined is a node that has been in its cluster before, or not, and nothing else.
func Joined(before bool) *Node { return &Node{joined: before} }

// Keeping is a lender that keeps a book.
func Keeping(lender catalog.Lender, book *custody.Book) catalog.Lender {
	return heldLenders{lender, book}
}

// RoomOn is roomOn beside regions of other nodes.
func RoomOn(place memregion.DevicePlace, size, unit, capacity int64, taken []memregion.Spec) (start, length int64, err error) {
	var records []catalog.RegionRecord
	for _, spec := range taken {
		records = append(records, catalog.RegionRecord{Spec: spec, Node: "b"})
	}
	return roomOn(place, size, unit, capacity, records)
}

// Protecting is what a node does with what is sealed.
var Protecting = protecting
