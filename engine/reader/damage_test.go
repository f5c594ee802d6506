package reader_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/fabric"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/memregion"
)

func oneExtent() *descriptor.Descriptor {
	return &descriptor.Descriptor{Extents: []descriptor.Extent{{ExtentID: catalog.ExtentID{Region: 1, Generation: 2}}}}
}

// A node that is being given up finds other bytes in memory that its lender has reused, and so does one that reads for
// another node's statement whose lease is over. Nothing is wrong with the replica, which is not to be tried last for
// it.
func TestDamageIsNotNotedOfMemoryThatMayHaveGoneBack(t *testing.T) {
	for _, c := range []struct {
		lender          string
		standing        error
		published       bool // of the node's own memory
		leasedElsewhere bool
		noted           bool
	}{
		{lender: "n2", noted: true},
		{lender: "n2", standing: catalog.ErrFenced},
		{lender: "n2", standing: catalog.ErrNotSure},
		{lender: "n2", leasedElsewhere: true},
		{lender: "n1", published: true, standing: catalog.ErrFenced, noted: true}, // its own memory is its alone
		{lender: "n1", published: true, leasedElsewhere: true, noted: true},
		{lender: "n1", leasedElsewhere: true},
	} {
		r := reader.New(reader.Config{
			Node: "n1", Standing: func() error { return c.standing }, Lender: func(memregion.RegionID) (string, bool) { return c.lender, true },
			Published: func(id catalog.ExtentID) bool {
				require.Equal(t, catalog.ExtentID{Region: 1, Generation: 2}, id)
				return c.published
			},
		})
		d := oneExtent()
		failed := r.FindDamaged("public.t", d, coherence.ErrChecksum, c.leasedElsewhere)
		require.Equal(t, c.lender, failed.Node)
		require.Equal(t, c.noted, r.Damage().Has(d.Extents[0].ExtentID), "%v", c)
		require.Equal(t, c.noted, r.Damage().Any())
		if c.noted {
			require.Equal(t, map[catalog.TableName]bool{{Schema: "public", Name: "t"}: true}, r.Damage().Tables())
		}
	}
}

// A lender that is not there is no damage: its replica is whole when it comes back.
func TestAbsenceIsNoDamage(t *testing.T) {
	r := reader.New(reader.Config{Node: "n1"})
	d := oneExtent()
	failed := r.FindDamaged("public.t", d, fmt.Errorf("%w: region 1", catalog.ErrLenderGone), false)
	require.False(t, r.Damage().Any())
	require.Equal(t, catalog.ErrLenderGone.SQLState(), failed.SQLState())
	require.ErrorContains(t, failed, "chunk 0 of table public.t lies on node n1, which is not there")
}

func TestDamagedError(t *testing.T) {
	loss := reader.Loss{Detail: "1 of 2 chunks is lost.", Reload: "ALTER TABLE t RELOAD rebuilds it."}
	r := reader.New(reader.Config{Node: "n1", Explain: func(*reader.DamagedError) reader.Loss { return loss }})
	damaged := r.FindDamaged("public.t", oneExtent(), coherence.ErrChecksum, false)
	require.Equal(t, "XX001", damaged.SQLState())
	require.Equal(t, []string{loss.Detail, loss.Reload}, []string{damaged.Detail(), damaged.Hint()})
	damaged.Used = true
	require.Contains(t, damaged.Hint(), "no row of this result can be trusted")
	loss = reader.Loss{}
	require.Contains(t, damaged.Hint(), "Load the table again from its source")
	for _, gone := range []error{memregion.ErrRegionGone, memregion.ErrRegionShort} {
		require.Equal(t, "58030", r.FindDamaged("public.t", oneExtent(), gone, false).SQLState())
	}
}

// A damaged replica is logged once, however often it is found and passed over; so many of them are remembered.
func TestDamageIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	r := reader.New(reader.Config{Node: "n1", Log: slog.New(slog.NewTextHandler(&log, nil))})
	d := oneExtent()
	for range 3 {
		r.PassOver("public.t", d, coherence.ErrChecksum)
	}
	require.Equal(t, 1, strings.Count(log.String(), "a replica is damaged; another one is read"), log.String())
	require.EqualValues(t, 3, r.Damage().PassedOver())
	require.Equal(t, 1, r.Damage().Found())
	for range reader.DamageMax {
		d.Extents[0].Generation++
		r.PassOver("public.t", d, coherence.ErrChecksum)
		require.True(t, r.Damage().Has(d.Extents[0].ExtentID))
		require.LessOrEqual(t, r.Damage().Found(), reader.DamageMax)
	}
	require.Equal(t, 1, r.Damage().Found(), "the others are found again when they are read")
}

// A region that is not mapped is an error that names it, or says why it is lost.
func TestReachOfWhatIsNotThere(t *testing.T) {
	lost := map[memregion.RegionID]error{2: fmt.Errorf("%w: the file was removed", memregion.ErrRegionGone)}
	asked := 0
	r := reader.New(reader.Config{Node: "n1", Fabric: fabric.OfGuest("n1", memregion.FabricShm), Lost: lost, Borrow: func(id memregion.RegionID) error {
		asked++
		return fmt.Errorf("region %d is not lent", id)
	}})
	_, err := r.Reach(2)
	require.ErrorContains(t, err, "the file was removed")
	require.Zero(t, asked, "what is lost is not borrowed")
	_, err = r.Reach(3)
	require.EqualError(t, err, "region 3 is not lent")
	_, err = r.Resolve(3, memregion.Range{Length: 1})
	require.ErrorIs(t, err, memregion.ErrRegionGone)
}
