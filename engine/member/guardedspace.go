package member

import (
	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// guardedSpace hands out no memory, and seals nothing, once pages of the region were found gone: what a writer stored
// there lies in no file, and no other process would ever see it.
type guardedSpace struct {
	catalog.Space
	reader *reader.Reader
	region *reader.Region // that it hands out
}

type guardedGrant struct {
	catalog.Grant
	from  guardedSpace
	since uint64 // alterations that were known before the first store
}

func (s guardedSpace) Grant(owner string, size int64) (catalog.Grant, error) {
	if err := s.reader.Intact(); err != nil {
		return nil, err
	}
	g, err := s.Space.Grant(owner, size)
	if err != nil {
		return nil, err
	}
	return guardedGrant{g, s, s.region.Look()}, nil
}

// Seal comes after the last store into the extent, and after its checksum was taken, which may cover what another
// process stored in between. Where the kernel does not say who altered the file, our own growth would look the same,
// and is let pass. So is an alteration of a region of a cluster: its other nodes have its file open to write what they
// were granted, and the end of one of their processes is an event, too.
func (g guardedGrant) Seal(seal coherence.Seal) error {
	if err := g.from.reader.Intact(); err != nil {
		return err
	}
	if g.from.region.View().Watch() == memregion.WatchProcess && g.from.region.Look() != g.since {
		return sqlerror.New("58030", "the file of lent memory on node %s was altered while a chunk was written there", g.from.reader.Node()).
			WithHint("Nothing was written. Find out who writes to the region's file, and try again.")
	}
	return g.Grant.Seal(seal)
}
