package member

import (
	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/memregion"
)

// RoomOn is roomOn beside regions of other nodes.
func RoomOn(place memregion.DevicePlace, size, unit, capacity int64, taken []memregion.Spec) (start, length int64, err error) {
	var records []catalog.RegionRecord
	for _, spec := range taken {
		records = append(records, catalog.RegionRecord{Spec: spec, Node: "b"})
	}
	return roomOn(place, size, unit, capacity, records)
}
