package layout_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// size is how large a package is, without tests and generated code.
type size struct{ files, lines int }

// largest is what a package may be.
var largest = size{files: 40, lines: 6_000}

// tooLarge are packages that are larger, with what they may be. They shrink: lower the numbers here when one becomes
// smaller.
var tooLarge = map[string]size{
	"engine": {files: 38, lines: 9_000},
}

// slack is by how much a number may be above what is there, so that not every change of a line is one of this file.
var slack = size{files: 0, lines: 250}

// columnsMost is how long a line of code or comment may be, and longer how many lines of the module are. Tabs count as four.
const (
	columnsMost = 120
	longer      = 2_010
)

// L3: packages are rooms that one can look over.
func TestPackagesAreSmall(t *testing.T) {
	is := map[string]size{}
	long := 0
	eachFile(t, func(path string, _ []string) {
		lines := 0
		file, err := os.Open(filepath.Join("../..", path))
		require.NoError(t, err)
		defer file.Close()
		for scan := bufio.NewScanner(file); scan.Scan(); lines++ {
			text := strings.ReplaceAll(scan.Text(), "\t", "    ")
			if !strings.HasSuffix(path, "_test.go") && utf8.RuneCountInString(text) > columnsMost {
				long++
			}
		}
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		is[folder] = size{is[folder].files + 1, is[folder].lines + lines}
	})
	for folder, now := range is {
		may, exception := tooLarge[folder]
		if !exception {
			may = largest
		}
		require.LessOrEqual(t, now.files, may.files, "%s: files; make a package of what belongs together", folder)
		require.LessOrEqual(t, now.lines, may.lines, "%s: lines; make a package of what belongs together", folder)
		if exception {
			require.GreaterOrEqual(t, now.files, may.files-slack.files, "%s has become smaller: lower its number of files here", folder)
			require.GreaterOrEqual(t, now.lines, may.lines-slack.lines, "%s has become smaller: lower its number of lines here", folder)
			require.True(t, may.files > largest.files || may.lines > largest.lines, "%s is no exception any more: leave it out here", folder)
		}
	}
	for folder := range tooLarge {
		require.Contains(t, is, folder)
	}
	require.LessOrEqual(t, long, longer, "lines of more than %d columns", columnsMost)
	require.GreaterOrEqual(t, long, longer-100, "there are fewer long lines: lower the number here")
}
