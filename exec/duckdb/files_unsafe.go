package duckdb

/*
#cgo linux LDFLAGS: -Wl,--wrap=open -Wl,--wrap=opendir -Wl,--wrap=access -Wl,--wrap=__xstat -Wl,--wrap=__lxstat
#cgo linux LDFLAGS: -Wl,--wrap=unlink -Wl,--wrap=remove -Wl,--wrap=rmdir -Wl,--wrap=mkdir -Wl,--wrap=rename
#cgo linux LDFLAGS: -Wl,--wrap=_ZN6duckdb8DBConfig13CanAccessFileERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENS_8FileTypeE
#include <stdlib.h>
#include "files.h"
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"
)

// reached is one directory that files.c knows of.
type reached struct {
	path  string
	spill bool
}

// confine registers with files.c (D10) the directories that the database's SQL reaches, and the one that it never does.
// release takes the list back.
func confine(o Options) (list []reached, err error) {
	add := func(path string, spill bool) {
		if err != nil {
			return
		}
		if path, err = filepath.Abs(path); err != nil {
			return
		}
		list = append(list, reached{path, spill})
		if resolved, failed := filepath.EvalSymlinks(path); failed == nil && resolved != path {
			list = append(list, reached{resolved, spill}) // its name without links: SQL may say either
		}
	}
	if o.SpillDirectory != "" {
		add(o.SpillDirectory, true)
		add(o.spill, true)
	}
	if !o.Files.All {
		for _, d := range o.Files.Directories {
			add(d, false)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("find the directories that DuckDB may use: %w", err)
	}
	for i, r := range list {
		if !r.tell(func(path *C.char, spill C._Bool) bool { return bool(C.csm_files_add(path, spill)) }) {
			release(list[:i])
			return nil, fmt.Errorf("no memory for the names of directories")
		}
	}
	return list, nil
}

func release(list []reached) {
	for _, r := range list {
		r.tell(func(path *C.char, spill C._Bool) bool { C.csm_files_remove(path, spill); return true })
	}
}

func (r reached) tell(to func(path *C.char, spill C._Bool) bool) bool {
	path := C.CString(strings.TrimSuffix(r.path, "/"))
	defer C.free(unsafe.Pointer(path)) // SAFETY: D2: C memory, which files.c copies
	return to(path, C._Bool(r.spill))
}

// attaching is held while an image is attached, whose name files.c lets through meanwhile.
var attaching sync.Mutex

// Attach attaches a database file that nothing can write any more, read-only, unless there is a database of the name.
// Transactions that began before find it, too. The file stays the caller's, and open meanwhile.
func (c *Connection) Attach(name string, image *os.File) error {
	attaching.Lock()
	defer attaching.Unlock()
	path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), image.Fd()) // not self: DuckDB asks for it without links
	reached{path: path}.tell(func(path *C.char, _ C._Bool) bool { C.csm_files_image(path); return true })
	defer C.csm_files_image(nil)
	return c.Exec("ATTACH IF NOT EXISTS " + QuoteLiteral(path) + " AS " + QuoteIdentifier(name) + " (READ_ONLY)")
}

// Spilled reports whether a file lies where a database of this process spills to, for callers that open files for SQL
// themselves.
func Spilled(f *os.File) (bool, error) {
	where, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return false, err
	}
	return reached{path: where}.tell(func(path *C.char, _ C._Bool) bool { return bool(C.csm_files_spilled(path)) }), nil
}
