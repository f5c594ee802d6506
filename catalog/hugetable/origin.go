package hugetable

import (
	"fmt"
	"slices"
	"sort"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// Origin says where the rows of a run of chunks came from, in words that only the layer above understands. Chunks that
// change places keep it.
type Origin struct {
	First, Chunks int
	Words         string
}

// meets reports whether it is that of one of n chunks.
func (o Origin) meets(first, n int) bool { return o.First < first+n && first < o.First+o.Chunks }

// OriginsMax bounds how many origins a version remembers, OriginsBytes how long their words may be together: they
// are in the table's record, which every commit writes. What comes beyond is not remembered.
const OriginsMax, OriginsBytes = 256, 128 << 10

// Origins lists what is known of where rows came from, by chunk. The slice is shared.
func (v *Version) Origins() []Origin { return v.origins }

// Origin is that of one chunk.
func (v *Version) Origin(chunk int) (Origin, bool) {
	i := sort.Search(len(v.origins), func(i int) bool { return v.origins[i].First > chunk }) - 1
	if i < 0 || chunk >= v.origins[i].First+v.origins[i].Chunks {
		return Origin{}, false
	}
	return v.origins[i], true
}

// AppendFrom is Append of chunks with an origin.
func (v *Version) AppendFrom(chunks []*chunk.Chunk, words string) (*Version, error) {
	if v.fold != nil && len(chunks) > 0 {
		return nil, v.foldIsAlone()
	}
	for i, c := range chunks {
		err := v.fits(c)
		if err == nil {
			err = v.keepsNulls(c)
		}
		if err != nil {
			return nil, fmt.Errorf("chunk %d for table %v: %w", i, v.table.Name, err)
		}
	}
	return v.appended(chunks, words)
}

// appended is AppendFrom of chunks that the table takes, or took before it was altered.
func (v *Version) appended(chunks []*chunk.Chunk, words string) (*Version, error) {
	next := *v
	next.tail = append(v.tail[:len(v.tail):len(v.tail)], chunks...)
	next.columns = append([]statistics.Summary(nil), v.columns...)
	for _, c := range chunks {
		next.rows += c.Rows()
		next.bytes += c.Bytes()
		shown, err := v.shown(c)
		if err != nil {
			return nil, err
		}
		addChunk(next.columns, shown)
	}
	if len(chunks) == 0 || words == "" {
		return &next, nil
	}
	size := len(words)
	for _, o := range v.origins {
		size += len(o.Words)
	}
	if len(v.origins) < OriginsMax && size <= OriginsBytes {
		next.origins = append(slices.Clone(v.origins), Origin{v.NumChunks(), len(chunks), words})
	}
	return &next, nil
}

// Field numbers of Origin in catalog.proto.
const originFirst, originChunks, originWords = 1, 2, 3

func (v *Version) encodeOrigins(w *message.Writer) {
	for _, o := range v.origins {
		start := w.Begin(recordOrigins)
		w.Uint(originFirst, uint64(o.First))
		w.Uint(originChunks, uint64(o.Chunks))
		w.String(originWords, o.Words)
		w.End(start)
	}
}

func (v *Version) readOrigin(r message.Reader) error {
	var first, chunks uint64
	var words string
	for r.Next() {
		switch r.Field() {
		case originFirst:
			first = r.Uint()
		case originChunks:
			chunks = r.Uint()
		case originWords:
			words = r.String()
		default:
			r.Skip()
		}
	}
	if err := r.Err(); err != nil {
		return err
	}
	const most = 1 << 31
	if first >= most || chunks == 0 || chunks >= most {
		return fmt.Errorf("an origin of %d chunks from %d on", chunks, first)
	}
	v.origins = append(v.origins, Origin{int(first), int(chunks), words})
	return nil
}

// checkOrigins: they are in order, apart, and of chunks that there are.
func (v *Version) checkOrigins() error {
	end := 0
	for _, o := range v.origins {
		if o.First < end || o.First+o.Chunks > v.chunks {
			return fmt.Errorf("%w: record of table %v has an origin of chunks %d to %d of %d", ErrCorrupt, v.table.Name, o.First, o.First+o.Chunks-1, v.chunks)
		}
		end = o.First + o.Chunks
	}
	if len(v.origins) > OriginsMax {
		return fmt.Errorf("%w: record of table %v has %d origins", ErrCorrupt, v.table.Name, len(v.origins))
	}
	return nil
}
