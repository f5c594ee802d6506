// Package compression makes the larger values of the store smaller.
//
// # Invariants
//
//   - CP1: Expand of what Compress made is the same bytes again; of bytes that Compress did not make it is these bytes,
//     unless they begin as a Zstandard frame does, which no message of the catalog does.
//   - CP2: whatever the bytes are, Expand makes no more of them than Most.
//
// # What it does not do
//
// It does not know what the values mean. Whether they are what was stored is for others to check.
package compression

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Most is how large a value may be. A page has 512 KiB, or the descriptor of one chunk.
const Most = 64 << 20

// magic begins each frame of Zstandard. As a protobuf message it would begin with a group, which the catalog has none of.
var magic = []byte{0x28, 0xb5, 0x2f, 0xfd}

var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are wrong
	}
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(Most))
	if err != nil {
		panic(err) // the options are wrong
	}
	return d
})

// Compress returns fewer bytes that mean the same, or data itself.
func Compress(data []byte) []byte {
	if made := encoder().EncodeAll(data, nil); len(made) < len(data) {
		return made
	}
	return data
}

// Expand returns the bytes that Compress was given.
func Expand(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, magic) {
		return data, nil
	}
	made, err := decoder().DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("expand %d bytes: %w", len(data), err)
	}
	return made, nil
}
