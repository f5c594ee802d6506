package bench

import (
	"context"
	"errors"
	"os"

	"github.com/csmsql/csmsql/bench/serving"
	"github.com/csmsql/csmsql/engine"
)

// openEngine opens an engine of this process. What closes it removes its directories, which have our names, unlike
// those that an engine makes for itself.
func openEngine(ctx context.Context, config engine.Config) (_ *engine.Engine, closeAll func() error, err error) {
	remove := func() error { return errors.Join(os.RemoveAll(config.Directory), os.RemoveAll(config.RegionDirectory)) }
	if config.Directory, err = serving.Directory(""); err != nil {
		return nil, nil, err
	}
	if config.RegionDirectory, err = serving.Directory(serving.SharedMemory); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	e, err := engine.Open(ctx, config)
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return e, func() error { return errors.Join(e.Close(), remove()) }, nil
}
