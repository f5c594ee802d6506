package member

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Small chunks are in the store's log before they are on the disk in the region's file (store.Redo). After a crash of
// the machine the file may not have them, nor be long enough for them.

// redo writes what the log had into the regions' files. Requires: nothing has been read of them, nor is one mapped
// here. It may be interrupted, and done again. What no version has by now is left out: its place may be another's.
func (n *Node) redo(live map[memregion.RegionID][]catalog.LiveExtent) error {
	if pending, err := n.local.HasRedos(); err != nil || !pending {
		return err
	}
	wanted := map[catalog.ExtentID]catalog.LiveExtent{}
	for _, list := range live {
		for _, x := range list {
			wanted[x.ExtentID] = x
		}
	}
	files := map[memregion.RegionID]*redoFile{}
	for _, record := range n.Catalog.Regions() {
		files[record.ID] = &redoFile{path: record.Path}
	}
	defer func() {
		for _, f := range files {
			f.close()
		}
	}()
	away := false
	err := n.local.Redos(func(r store.Redo) error {
		id := catalog.ExtentID{Region: memregion.RegionID(r.Region), Generation: coherence.Generation(r.Generation)}
		x, ok := wanted[id]
		file := files[id.Region]
		if !ok || file == nil {
			return nil
		}
		there := memregion.Range{Offset: r.Offset, Length: r.Length}
		if x.Range != there || x.Seal != (coherence.Seal{Length: int64(len(r.Data)), Checksum: xxh3.Hash(r.Data)}) {
			return fmt.Errorf("%w: the commit log has other bytes of chunk %d of table %s than its descriptor says",
				catalog.ErrCorrupt, x.Chunk, x.Table)
		}
		err := file.put(r)
		away = away || errors.Is(err, os.ErrNotExist)
		if errors.Is(err, os.ErrNotExist) {
			return nil // tables that lie there say so; the file may come back
		}
		return err
	})
	if err != nil {
		return err
	}
	written := 0
	for _, f := range files {
		if err := f.sync(); err != nil {
			return err
		}
		written += f.written
	}
	if written > 0 {
		n.config.Log.Info("small chunks that were not in the region's file came from the commit log", "chunks", written)
	}
	if away {
		return nil
	}
	return n.local.Redone()
}

// redoFile is a region's file that redo writes into.
type redoFile struct {
	path    string
	file    *os.File // nil until it is needed
	written int
}

// put has the file say what it must, unless it does.
func (f *redoFile) put(r store.Redo) (err error) {
	if f.file == nil {
		if f.file, err = os.OpenFile(f.path, os.O_RDWR, 0); err != nil {
			return fmt.Errorf("write what the commit log has of a region: %w", err)
		}
	}
	must, is := make([]byte, r.Length), make([]byte, r.Length)
	copy(must, r.Data)
	if _, err := f.file.ReadAt(is, r.Offset); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read a region's file: %w", err)
	} else if err == nil && bytes.Equal(must, is) {
		return nil
	}
	if _, err := f.file.WriteAt(must, r.Offset); err != nil {
		return fmt.Errorf("write what the commit log has into %s: %w", f.path, err)
	}
	f.written++
	return nil
}

// sync is needed of what was there, too: it may be nowhere but in the page cache.
func (f *redoFile) sync() error {
	if f.file == nil {
		return nil
	}
	if err := f.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", f.path, err)
	}
	return nil
}

func (f *redoFile) close() {
	if f.file != nil {
		_ = f.file.Close() // it is synced
	}
}
