package shell

import (
	"context"
	"fmt"
	"io"
	"os"
)

// scriptBytes bounds a script: it is read whole, because only its end says where its last statement ends.
const scriptBytes = 1 << 30

// File runs the statements of a file; "-" is standard input.
func (s *Shell) File(ctx context.Context, path string) error {
	in := s.in
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close() // only read
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, scriptBytes+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if len(text) > scriptBytes {
		return fmt.Errorf("%s has more than %d MiB of SQL; load data with csmsql load", path, scriptBytes>>20)
	}
	return s.Script(ctx, string(text))
}
