package chunk

import (
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/coherence"
)

// Copy makes another replica of a chunk in other memory, from the first one that d has. Nothing is decoded: offsets
// in a descriptor are relative to its extents. extent gives the bytes of one of d's, which are held against its
// checksum. On error nothing is held.
func Copy(space Space, d *descriptor.Descriptor,
	extent func(*descriptor.Extent) ([]byte, error)) ([]descriptor.Extent, error) {
	made := make([]descriptor.Extent, 0, len(d.Extents))
	for i := range d.Extents {
		x, err := copyExtent(space, d.Owner, &d.Extents[i], extent)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("copy a chunk of %d rows: %w", d.Rows, err), discard(space, made))
		}
		made = append(made, x)
	}
	return made, nil
}

func discard(space Space, sealed []descriptor.Extent) error {
	if len(sealed) == 0 {
		return nil
	}
	generations := make([]coherence.Generation, len(sealed))
	for i := range sealed {
		generations[i] = sealed[i].Generation
	}
	return space.Discard(generations...)
}

func copyExtent(space Space, owner string, from *descriptor.Extent,
	extent func(*descriptor.Extent) ([]byte, error)) (to descriptor.Extent, err error) {
	data, err := extent(from)
	if err != nil {
		return to, err
	}
	if int64(len(data)) < from.Seal.Length {
		return to, fmt.Errorf("%w: generation %d has %d bytes, it was sealed with %d", coherence.ErrChecksum, from.Generation, len(data), from.Seal.Length)
	}
	grant, err := space.Grant(owner, from.Range.Length)
	if err != nil {
		return to, err
	}
	if err := fill(grant, from, data); err != nil {
		return to, errors.Join(err, grant.Abort())
	}
	to.Region, to.Generation, to.Range, to.Seal = space.Region(), grant.Generation(), grant.Range(), from.Seal
	return to, nil
}

// fill writes every byte of the grant (docs/coherence.md, step 2) and seals it.
func fill(grant Grant, from *descriptor.Extent, data []byte) error {
	if grant.Range().Length > from.Range.Length {
		if err := grant.Shrink(from.Range.Length); err != nil {
			return err
		}
	}
	got, err := copyHashed(grant, data[:from.Seal.Length])
	if err != nil {
		return err
	}
	clear(grant.Bytes()[from.Seal.Length:from.Range.Length])
	if got != from.Seal.Checksum {
		return fmt.Errorf("%w: generation %d of region %d has checksum %016x, it was sealed with %016x", coherence.ErrChecksum, from.Generation, from.Region, got, from.Seal.Checksum)
	}
	if err := grant.Clean(); err != nil {
		return err
	}
	return grant.Seal(from.Seal)
}

// hashedPiece is hashed as soon as it was copied, while it is in a cache. It is long enough for a grant to measure with
// (coherence.Chooser).
const hashedPiece = 256 << 10

// copyHashed copies data to the beginning of the grant and returns its checksum: of what was stored, or, where that
// has left the caches and would have to be fetched again, of what was to be stored.
func copyHashed(grant Grant, data []byte) (checksum uint64, err error) {
	hash := xxh3.New()
	for at := 0; at < len(data); {
		next := min(at+hashedPiece, len(data))
		near, err := grant.Copy(int64(at), data[at:next])
		if err != nil {
			return 0, err
		}
		piece := data[at:next]
		if near {
			piece = grant.Bytes()[at:next]
		}
		_, _ = hash.Write(piece) // never fails
		at = next
	}
	return hash.Sum64(), nil
}
