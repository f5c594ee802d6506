package node

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/wire"
)

// Off is the address that means "do not listen".
const Off = "off"

// Options of a node.
type Options struct {
	Data            string // data directory
	PostgreSQL      string // host:port, or Off
	HTTP            string // host:port, or empty
	Fabric          string // shm or file
	RegionDirectory string
	RegionBytes     int64
	MemoryBytes     int64
	Threads         int
	Node            string
	Files           []string // directories that SQL may read and write
	Verify          bool
	Log             *slog.Logger
}

// Check finds what is wrong with the options as they stand, before anything is touched.
func (o Options) Check() error {
	_, err := o.complete()
	return err
}

// complete makes paths absolute and checks what can be checked.
func (o Options) complete() (Options, error) {
	if o.PostgreSQL != Off {
		if err := wire.CheckListen(o.PostgreSQL, false); err != nil {
			return o, fmt.Errorf("--pg: %w", err)
		}
	}
	if o.HTTP != "" {
		if err := wire.CheckListen(o.HTTP, false); err != nil {
			return o, fmt.Errorf("--http: %w", err)
		}
	}
	if f := memregion.FabricKind(o.Fabric); f != memregion.FabricShm && f != memregion.FabricFile {
		return o, fmt.Errorf("--fabric %s: this version knows shm (memory, gone after a reboot) and file (on disk)", o.Fabric)
	}
	if o.Threads < 0 {
		return o, fmt.Errorf("--threads %d: say how many threads queries may use, or 0 for one per CPU", o.Threads)
	}
	var err error
	if o.Data, err = filepath.Abs(o.Data); err != nil {
		return o, fmt.Errorf("--data: %w", err)
	}
	if o.RegionDirectory != "" {
		if o.RegionDirectory, err = directory("--region-dir", o.RegionDirectory); err != nil {
			return o, err
		}
	}
	o.Files = slices.Clone(o.Files)
	for i, dir := range o.Files {
		if o.Files[i], err = directory("--files", dir); err != nil {
			return o, err
		}
	}
	return o, nil
}

// directory makes the path of an existing directory absolute.
func directory(flag, path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s: %s is not a directory", flag, absolute)
	}
	return absolute, nil
}

func (o Options) engine() engine.Config {
	return engine.Config{
		Directory: o.Data, Node: o.Node, Fabric: memregion.FabricKind(o.Fabric), RegionDirectory: o.RegionDirectory,
		RegionBytes: o.RegionBytes, MemoryBytes: o.MemoryBytes, Threads: o.Threads,
		Files: engine.FileAccess{Directories: o.Files}, Verify: o.Verify, Log: o.Log,
	}
}
