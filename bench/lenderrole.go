package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/bench/serving"
	"github.com/csmsql/csmsql/bench/thesis"
	"github.com/csmsql/csmsql/catalog/descriptor"
)

// sharedRoom is how many bytes more shared memory has room for.
func sharedRoom() (bytes int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(serving.SharedMemory, &s); err != nil {
		return 0, fmt.Errorf("bench: ask for the room in /dev/shm: %w", err)
	}
	return int64(s.Bavail) * s.Bsize, nil
}

// lenderRole lends memory that thesis writes into, and decodes the descriptors that it is sent.
func lenderRole(ctx context.Context, args []string, talk *conversation) (err error) {
	capacity, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	directory, err := serving.Directory(serving.SharedMemory)
	if err != nil {
		return errors.Join(talk.answer(nil, err), err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	running, stop := context.WithCancel(ctx)
	var group errgroup.Group
	ready := make(chan error, 1)
	var cleaned func() thesis.Cleaned
	group.Go(func() error {
		err := thesis.Serve(running, directory, capacity, func(l thesis.Lent, ask func() thesis.Cleaned) error {
			cleaned = ask
			ready <- nil
			return talk.answer(l, nil)
		})
		ready <- err // into the buffer, without a receiver, if it was ready
		return err
	})
	defer func() { stop(); err = errors.Join(err, group.Wait()) }()
	if err := <-ready; err != nil {
		return talk.answer(nil, err)
	}
	for r := range talk.requests {
		var result any
		var err error
		switch r.Do {
		case "descriptor":
			var d *descriptor.Descriptor
			if d, err = descriptor.Decode(r.Descriptor); err == nil {
				result = d.Rows
			}
		case "cleaned":
			result = cleaned()
		default:
			err = fmt.Errorf("the lender cannot %q", r.Do)
		}
		if err := talk.answer(result, err); err != nil {
			return err
		}
	}
	return nil
}
