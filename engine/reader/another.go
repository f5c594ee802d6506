package reader

import (
	"errors"

	"github.com/csmsql/csmsql/memregion"
)

// OfAnother replaces an error by the reason, if trust returns one, for which memory that was read holds something else
// by now: this node was given up, or its lender has restarted. The error need not look like damage: other bytes may
// cause any error, such as a number out of range. by is nil where damage is noticed before anything is made of it.
func OfAnother(err error, by *Readings, trust func(...memregion.RegionID) error) error {
	if err == nil {
		return nil
	}
	if by != nil {
		if lost := trust(by.InRegions()...); lost != nil {
			return lost
		}
	}
	var damaged *DamagedError
	if errors.As(err, &damaged) && damaged.Region != 0 {
		if lost := trust(damaged.Region); lost != nil {
			return lost
		}
	}
	return err
}
