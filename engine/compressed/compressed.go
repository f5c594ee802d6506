package compressed

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// ErrDamaged is the class of what Check finds: the file is not whole, or not compressed at all.
var ErrDamaged = errors.New("the compressed data is damaged, or ends too early")

// Named reports whether a file's name, or a pattern of names, says that it is compressed.
func Named(name string) bool { return extension(name) != "" }

func extension(name string) string {
	switch e := strings.ToLower(filepath.Ext(name)); e {
	case ".gz", ".zst":
		return e
	}
	return ""
}

// Check reads a file to its end, if its name says that it is compressed, unless ctx ends before.
func Check(ctx context.Context, name string, file io.Reader) error {
	var err error
	switch extension(name) {
	case ".gz":
		var r *gzip.Reader
		if r, err = gzip.NewReader(bufio.NewReaderSize(file, 1<<20)); err == nil {
			_, err = io.Copy(until{ctx}, r)
		}
	case ".zst":
		var r *zstd.Decoder
		if r, err = zstd.NewReader(file, zstd.WithDecoderConcurrency(1)); err == nil {
			_, err = r.WriteTo(until{ctx})
			r.Close()
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// until takes data and drops it until a context ends: a small file can be a large one's.
type until struct{ ctx context.Context }

func (u until) Write(data []byte) (int, error) { return len(data), u.ctx.Err() }
