package descriptor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/descriptor"
	wire "github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// replicate adds n replicas in other regions.
func replicate(d *descriptor.Descriptor, n int) {
	for k := range n {
		other := append([]descriptor.Extent(nil), d.Extents...)
		for i := range other {
			other[i].Region += memregion.RegionID(k + 1)
			other[i].Generation += descriptor.Generation(100 * (k + 1))
			other[i].Range.Offset += int64(k) * memregion.PageSize
		}
		d.Others = append(d.Others, other)
	}
}

// twoExtents is a descriptor whose bytes lie in two pieces, each replica as well.
func twoExtents(t *testing.T, replicas int) *descriptor.Descriptor {
	d := threeColumns(t)
	second := d.Extents[0]
	second.Generation, second.Range.Offset, second.Seal.Checksum = 43, second.Range.End(), 7
	d.Extents = append(d.Extents, second)
	replicate(d, replicas-1)
	require.NoError(t, d.Validate())
	return d
}

// Replicas come back as they were, by Decode and by Peek, and each can be read by itself.
func TestReplicas(t *testing.T) {
	for _, n := range []int{1, 2, 3, descriptor.MaxReplicas} {
		d := twoExtents(t, n)
		encoded, err := d.Encode()
		require.NoError(t, err)
		back, err := descriptor.Decode(encoded)
		require.NoError(t, err)
		require.Equal(t, n, back.Replicas())
		h, err := descriptor.Peek(encoded)
		require.NoError(t, err)
		var peeked []descriptor.ExtentID
		for x := range h.All() {
			peeked = append(peeked, x.ExtentID)
		}
		require.Equal(t, d.ExtentIDs(), peeked)
		require.Len(t, peeked, 2*n)
		require.Equal(t, int64(n)*back.Replica(0).Bytes(), back.Bytes())
		for i := range n {
			require.Equal(t, d.ExtentsOf(i), back.ExtentsOf(i))
			one := back.Replica(i)
			require.Equal(t, d.ExtentsOf(i), one.Extents)
			require.Equal(t, 1, one.Replicas())
			require.NoError(t, one.Validate())
		}
	}
}

// D7: what is no replica of the first one is refused, when it is made and when it arrives.
func TestReplicasThatCannotBe(t *testing.T) {
	for what, c := range map[string]struct {
		alter func(d *descriptor.Descriptor)
		says  string
	}{
		"fewer extents":  {func(d *descriptor.Descriptor) { d.Others[1] = d.Others[1][:1] }, "2: 1 extents, the first one has 2"},
		"another length": {func(d *descriptor.Descriptor) { d.Others[0][1].Range.Length += memregion.PageSize }, "1: extent 1 is not the same"},
		"another seal":   {func(d *descriptor.Descriptor) { d.Others[0][0].Seal = coherence.Seal{Length: 1} }, "1: extent 0 is not the same"},
		"no region":      {func(d *descriptor.Descriptor) { d.Others[0][0].Region = 0 }, "extent 0 of replica 1 has no region"},
		"no page":        {func(d *descriptor.Descriptor) { d.Others[1][1].Range.Offset++ }, "extent 1 of replica 2 starts at"},
		"one generation": {func(d *descriptor.Descriptor) {
			d.Others[0][0].ExtentID, d.Others[0][0].Range.Offset = d.Others[1][1].ExtentID, 1<<40
		}, "have one generation"},
		"the first's bytes": {func(d *descriptor.Descriptor) { d.Others[0][0].Region, d.Others[0][0].Range = 7, d.Extents[1].Range }, "overlap"},
		"too many":          {func(d *descriptor.Descriptor) { replicate(d, descriptor.MaxReplicas) }, "at most 1024 and 32"},
		"of nothing":        {func(d *descriptor.Descriptor) { d.Extents, d.Others = nil, [][]descriptor.Extent{nil} }, "0 extents"},
	} {
		d := twoExtents(t, 3)
		c.alter(d)
		require.ErrorContains(t, d.Validate(), c.says, what)
		if what == "fewer extents" || what == "another length" || what == "another seal" || what == "of nothing" {
			continue // cannot be written
		}
		encoded, err := d.Encode()
		require.NoError(t, err)
		_, err = descriptor.Decode(encoded)
		require.ErrorIs(t, err, descriptor.ErrCorrupt, what)
	}
}

// An extent that lies in more or fewer other places than the one before it is refused before anything relies on it.
func TestUnevenReplicas(t *testing.T) {
	even, err := twoExtents(t, 3).Encode()
	require.NoError(t, err)
	few, err := twoExtents(t, 2).Encode()
	require.NoError(t, err)
	for _, order := range [][2][]byte{{even, few}, {few, even}} {
		mixed := append(extent(t, order[0], 0), extent(t, order[1], 1)...)
		_, err := descriptor.Decode(append([]byte{8, 1}, mixed...))
		require.ErrorIs(t, err, descriptor.ErrCorrupt)
		require.ErrorContains(t, err, "other places")
		_, err = descriptor.Peek(mixed)
		require.ErrorIs(t, err, descriptor.ErrCorrupt)
	}
}

// extent gives one of an encoded descriptor's, as it stands there.
func extent(t *testing.T, encoded []byte, n int) []byte {
	w := wire.Writer{}
	for r := wire.NewReader(encoded); r.Next(); {
		if r.Field() != 4 {
			r.Skip()
			continue
		}
		if data := r.Bytes(); n == 0 {
			w.Bytes(4, data)
			return w.Buf
		}
		n--
	}
	require.Fail(t, "there are fewer extents")
	return nil
}
