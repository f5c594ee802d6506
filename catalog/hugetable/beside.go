package hugetable

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// What one version keeps in memory beside another is estimated, for accounts of memory: they were made of each
// other, and share what is the same.
const (
	versionBytes = 512 // a version itself
	summaryBytes = 256 + statistics.SketchBytes
	entryBytes   = 64  // of a map
	fieldBytes   = 256 // a column in a schema
	chunkBytes   = 1 << 10
)

// KeptBeside estimates the bytes that the version keeps in memory which another one does not; nil keeps nothing.
func (v *Version) KeptBeside(other *Version) int64 {
	if v == other {
		return 0
	}
	if other == nil {
		other = &Version{}
	}
	bytes := int64(versionBytes) + v.chunksBeside(other) + v.deadBeside(other)
	if v.table.Columns != other.table.Columns {
		bytes += SchemaBytesBeside(v.table.Columns, other.table.Columns)
	}
	if len(v.columns) > 0 && (len(other.columns) == 0 || &v.columns[0] != &other.columns[0]) {
		bytes += summaryBytes * int64(len(v.columns))
	}
	if len(v.origins) != len(other.origins) {
		for _, o := range v.origins {
			bytes += entryBytes + int64(len(o.Words))
		}
	}
	return bytes
}

// chunksBeside is of the chunks that a transaction has appended, or put in the place of others.
func (v *Version) chunksBeside(other *Version) (bytes int64) {
	shared := min(len(v.tail), len(other.tail))
	for shared > 0 && v.tail[shared-1] != other.tail[shared-1] { // of what is appended the beginning stays
		shared--
	}
	for _, c := range v.tail[shared:] {
		bytes += bytesOfChunk(c)
	}
	for i, m := range v.moved {
		if was := other.moved[i].chunk; was != m.chunk {
			bytes += entryBytes + bytesOfChunk(m.chunk)
		}
	}
	return bytes
}

// bytesOfChunk is a descriptor, as it is written and as it is used, and the sketches of its columns.
func bytesOfChunk(c *chunk.Chunk) int64 {
	if c == nil {
		return 0
	}
	return chunkBytes + 5*int64(len(c.Encoded())) + statistics.SketchBytes*int64(len(c.Sketches()))
}

// deadBeside is of the rows that a transaction has deleted.
func (v *Version) deadBeside(other *Version) (bytes int64) {
	same := len(v.dead) == len(other.dead)
	for i, rows := range v.dead {
		if other.dead[i] != rows {
			bytes, same = bytes+rows.Bytes(), false
		}
	}
	if !same { // the map was rebuilt
		bytes += entryBytes * int64(len(v.dead))
	}
	return bytes
}

// SchemaBytesBeside is KeptBeside for schemas.
func SchemaBytesBeside(schema, other *arrow.Schema) (bytes int64) {
	if schema == nil || schema == other {
		return 0
	}
	if other == nil {
		other = arrow.NewSchema(nil, nil)
	}
	bytes = metadataBeside(schema.Metadata(), other.Metadata())
	for i, f := range schema.Fields() {
		was := arrow.Field{}
		if i < other.NumFields() {
			was = other.Field(i)
		}
		bytes += fieldBytes + metadataBeside(f.Metadata, was.Metadata)
		if f.Name != was.Name {
			bytes += int64(len(f.Name))
		}
	}
	return bytes
}

// metadataBeside takes texts that are the same for shared.
func metadataBeside(m, other arrow.Metadata) (bytes int64) {
	for i, key := range m.Keys() {
		bytes += entryBytes
		if was, ok := other.GetValue(key); !ok || was != m.Values()[i] {
			bytes += int64(len(key) + len(m.Values()[i]))
		}
	}
	return bytes
}

// PathBytes estimates the bytes of a persistent map of so many keys that a change of one key copies.
func PathBytes(length int) int64 { return 96 * int64(1+bits.Len(uint(length))) }
