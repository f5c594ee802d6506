package member_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

func TestRoomOnADevice(t *testing.T) {
	const unit = memregion.PageSize
	type taken struct{ start, capacity int64 }
	for _, c := range []struct {
		taken           []taken
		start, capacity int64
		want            string
	}{
		{nil, -1, 0, "0+10"},
		{nil, -1, 4, "0+4"},
		{nil, 6, 0, "6+4"},
		{nil, 6, 5, "53200"},
		{nil, 10, 0, "22023"},
		{[]taken{{0, 4}}, -1, 0, "4+6"},
		{[]taken{{0, 4}}, -1, 7, "53200"},
		{[]taken{{2, 3}, {7, 1}}, -1, 2, "0+2"},
		{[]taken{{7, 1}, {2, 3}}, -1, 0, "0+2"},
		{[]taken{{0, 3}, {5, 1}}, -1, 3, "6+3"},
		{[]taken{{0, 3}, {5, 1}}, 3, 0, "3+2"},
		{[]taken{{0, 3}, {5, 1}}, 3, 3, "55006"},
		{[]taken{{0, 3}, {5, 1}}, 2, 1, "55006"},
		{[]taken{{0, 3}, {5, 1}}, 5, 1, "55006"},
		{[]taken{{0, 3}, {5, 1}}, 6, 4, "6+4"},
		{[]taken{{0, 10}}, -1, 0, "53200"},
		{[]taken{{0, 10}}, 9, 0, "55006"},
	} {
		var there []memregion.Spec
		for _, r := range c.taken {
			there = append(there, memregion.Spec{Path: "/d", Start: r.start * unit, Capacity: r.capacity * unit})
		}
		there = append(there, memregion.Spec{Path: "/another", Capacity: 10 * unit})
		start := c.start
		if start > 0 {
			start *= unit
		}
		at, length, err := member.RoomOn(memregion.DevicePlace{Path: "/d", Start: start}, 10*unit+5, unit, c.capacity*unit, there)
		got := fmt.Sprintf("%d+%d", at/unit, length/unit)
		if err != nil {
			got = sqlerror.State(err)
		}
		require.Equal(t, c.want, got, "%+v: %v", c, err)
	}
	const huge = 2 << 20 // what is mapped in larger pages than ours has regions of whole ones
	there := []memregion.Spec{{Path: "/d", Capacity: huge}}
	at, length, err := member.RoomOn(memregion.DevicePlace{Path: "/d", Start: -1}, 3*huge+unit, huge, huge+unit, there)
	require.NoError(t, err)
	require.Equal(t, []int64{huge, 2 * huge}, []int64{at, length})
	_, _, err = member.RoomOn(memregion.DevicePlace{Path: "/d", Start: huge + unit}, 3*huge, huge, 0, there)
	require.Equal(t, "22023", sqlerror.State(err), "%v", err)
}
