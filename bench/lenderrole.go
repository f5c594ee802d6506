package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/bench/thesis"
	"github.com/csmsql/csmsql/catalog/descriptor"
)

// sharedDirectory makes a directory for regions.
func sharedDirectory() (string, error) { return os.MkdirTemp("/dev/shm", "csmsql-bench-") }

// lenderRole lends memory that thesis writes into, and decodes the descriptors that it is sent.
func lenderRole(ctx context.Context, args []string, talk *conversation) (err error) {
	capacity, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	directory, err := sharedDirectory()
	if err != nil {
		return errors.Join(talk.answer(nil, err), err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	serving, stop := context.WithCancel(ctx)
	var group errgroup.Group
	ready := make(chan error, 1)
	group.Go(func() error {
		err := thesis.Serve(serving, directory, capacity, func(l thesis.Lent) error { ready <- nil; return talk.answer(l, nil) })
		ready <- err // nobody listens, if it was ready
		return err
	})
	defer func() { stop(); err = errors.Join(err, group.Wait()) }()
	if err := <-ready; err != nil {
		return talk.answer(nil, err)
	}
	for r := range talk.requests {
		var rows int64
		d, err := descriptor.Decode(r.Descriptor)
		if r.Do != "descriptor" {
			err = fmt.Errorf("the lender cannot %q", r.Do)
		}
		if err == nil {
			rows = d.Rows
		}
		if err := talk.answer(rows, err); err != nil {
			return err
		}
	}
	return nil
}
