package chunk

import (
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/coherence"
)

// Copy makes the same chunk in other memory. Nothing is decoded: offsets in a descriptor are relative to its extents. extent
// gives the bytes of one of c's, which are held against its checksum. On error nothing is held.
func Copy(space Space, c *Chunk, extent func(*descriptor.Extent) ([]byte, error)) (*Chunk, error) {
	d := *c.descriptor
	d.Extents = make([]descriptor.Extent, 0, len(c.descriptor.Extents))
	for i := range c.descriptor.Extents {
		x, err := copyExtent(space, d.Owner, &c.descriptor.Extents[i], extent)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("copy a chunk of %d rows: %w", c.Rows(), err), discard(space, d.Extents))
		}
		d.Extents = append(d.Extents, x)
	}
	encoded, err := d.Encode()
	if err != nil {
		return nil, errors.Join(err, discard(space, d.Extents))
	}
	return New(&d, encoded, c.sketches), nil
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

func copyExtent(space Space, owner string, from *descriptor.Extent, extent func(*descriptor.Extent) ([]byte, error)) (to descriptor.Extent, err error) {
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

// fill writes every byte of the grant (DESIGN §5, step 2) and seals it.
func fill(grant Grant, from *descriptor.Extent, data []byte) error {
	if grant.Range().Length > from.Range.Length {
		if err := grant.Shrink(from.Range.Length); err != nil {
			return err
		}
	}
	out := grant.Bytes()[:from.Range.Length]
	n := copy(out, data[:from.Seal.Length])
	clear(out[n:])
	if got := xxh3.Hash(out[:n]); got != from.Seal.Checksum {
		return fmt.Errorf("%w: generation %d of region %d has checksum %016x, it was sealed with %016x", coherence.ErrChecksum, from.Generation, from.Region, got, from.Seal.Checksum)
	}
	if err := grant.Clean(); err != nil {
		return err
	}
	return grant.Seal(from.Seal)
}
