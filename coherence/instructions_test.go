package coherence

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/memregion"
)

// instruction is one of a routine, as it is encoded: disassemblers give CLFLUSH and CLFLUSHOPT one name.
type instruction struct {
	address int64
	code    []byte // in the order of memory
	text    string
}

// set is what the tests must know of a processor.
type set struct {
	flushes map[string]func(code []byte) bool // by routine: its one flush
	fences  map[string][]byte                 // by routine: its one fence
	flush   func(code []byte) bool            // any flush, of whatever kind
	fence   func(code []byte) bool            // any fence
	branch  *regexp.Regexp                    // the name of a branch within the routine
	target  func(i instruction) int64         // where a branch leads
	ret     []byte
	// completes: a flush is completed by its own processor only, so a routine that flushes ends with this fence; nil: the processor
	// orders flushes before the locked instructions with which a goroutine goes to another one.
	completes []byte
	copies    map[string]copying // routines that copy
}

// copying is what a routine that copies must be made of.
type copying struct {
	store func(code []byte) bool // its only stores
	any   func(code []byte) bool // any store that there could be in it
	count int                    // of them in the loop
	flush func(code []byte) bool // after them; nil: none
	fence []byte                 // the last instruction before it returns; nil: none
}

// sse reports a 16-byte move between memory and a register, with a 32-bit address offset at most.
func sse(prefix byte, opcode byte) func(code []byte) bool {
	return func(c []byte) bool { return bytes.HasPrefix(c, []byte{prefix, 0x0f, opcode}) && c[3] < 0xc0 }
}

func either(a, b func(code []byte) bool) func(code []byte) bool {
	return func(c []byte) bool { return a(c) || b(c) }
}

func word(code []byte) uint32 {
	if len(code) != 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(code)
}

func little(w uint32) []byte { return binary.LittleEndian.AppendUint32(nil, w) }

// lastNumber is the address that a branch is printed with.
func lastNumber(i instruction) int64 {
	n, _ := strconv.ParseInt(i.text[strings.LastIndex(i.text, " ")+1:], 0, 64)
	return n
}

// relative is a branch that is printed as a number of instructions.
func relative(i instruction) int64 {
	field := i.text[strings.LastIndexAny(i.text, " ")+1:]
	n, _ := strconv.ParseInt(strings.TrimSuffix(field, "(PC)"), 0, 64)
	return i.address + 4*n
}

var sets = map[string]set{
	"amd64": {
		flushes: map[string]func([]byte) bool{
			"flushOpt": func(c []byte) bool {
				return bytes.HasPrefix(c, []byte{0x66, 0x0f, 0xae}) && c[3]&0x38 == 0x38 && c[3] < 0xc0
			}, // CLFLUSHOPT
			"flushOld": func(c []byte) bool { return bytes.HasPrefix(c, []byte{0x0f, 0xae}) && c[2]&0x38 == 0x38 && c[2] < 0xc0 }, // CLFLUSH
		},
		fences: map[string][]byte{"fenceFull": {0x0f, 0xae, 0xf0}, "fenceStore": {0x0f, 0xae, 0xf8}}, // MFENCE, SFENCE
		flush: func(c []byte) bool {
			at := bytes.Index(c, []byte{0x0f, 0xae})
			return at >= 0 && len(c) > at+2 && c[at+2] < 0xc0 // CLFLUSH, CLFLUSHOPT, CLWB and the like
		},
		fence:  func(c []byte) bool { return len(c) == 3 && bytes.HasPrefix(c, []byte{0x0f, 0xae}) && c[2] >= 0xe8 },
		branch: regexp.MustCompile(`^J`), target: lastNumber, ret: []byte{0xc3},
		copies: map[string]copying{
			"streamCopy": {store: sse(0x66, 0xe7), any: either(sse(0x66, 0xe7), sse(0xf3, 0x7f)), count: 4, fence: []byte{0x0f, 0xae, 0xf8}}, // MOVNTDQ, SFENCE
			"streamBehind": {store: sse(0x66, 0xe7), any: either(sse(0x66, 0xe7), sse(0xf3, 0x7f)), count: 4, fence: []byte{0x0f, 0xae, 0xf8},
				flush: func(c []byte) bool {
					return bytes.HasPrefix(c, []byte{0x66, 0x0f, 0xae}) && c[3]&0x38 == 0x38 && c[3] < 0xc0 // CLFLUSHOPT
				}},
			"throughCopy": {store: sse(0xf3, 0x7f), any: either(sse(0x66, 0xe7), sse(0xf3, 0x7f)), count: 4, // MOVDQU
				flush: func(c []byte) bool {
					return bytes.HasPrefix(c, []byte{0x66, 0x0f, 0xae}) && c[3]&0x38 == 0x30 && c[3] < 0xc0 // CLWB
				}},
		},
	},
	"arm64": {
		flushes: map[string]func([]byte) bool{"flushCIVAC": func(c []byte) bool { return word(c)&^0x1f == 0xd50b7e20 }},
		fences:  map[string][]byte{"fenceFull": little(0xd5033f9f), "fenceStore": little(0xd5033f9f)}, // DSB SY
		flush:   func(c []byte) bool { return word(c)&0xfff8f000 == 0xd5087000 },                      // SYS with CRn = C7: any cache maintenance
		fence:   func(c []byte) bool { return word(c)&^0xfff == 0xd5033000 },
		branch:  regexp.MustCompile(`\(PC\)$`), target: relative, ret: little(0xd65f03c0),
		completes: little(0xd5033f9f),
		copies: map[string]copying{
			"streamCopy": {store: func(c []byte) bool { return word(c)&0xffc00000 == 0xac000000 }, any: pairs, count: 2, fence: little(0xd5033f9f)}, // STNP
			"throughCopy": {store: func(c []byte) bool { return word(c)&0xffc00000 == 0xad000000 }, any: pairs, count: 2, // STP
				flush: func(c []byte) bool { return word(c)&^0x1f == 0xd50b7a20 }, fence: little(0xd5033f9f)}, // DC CVAC
		},
	},
	"ppc64le": {
		flushes: map[string]func([]byte) bool{"flushDCBF": func(c []byte) bool { return word(c)&0xffff07ff == 0x7c0000ac }}, // RA=0, L=0
		fences:  map[string][]byte{"fenceFull": little(0x7c0004ac), "fenceStore": little(0x7c0004ac)},                       // SYNC with L=0
		flush: func(c []byte) bool {
			return word(c)>>26 == 31 && (word(c)>>1&0x3ff == 86 || word(c)>>1&0x3ff == 54) // DCBF, DCBST
		},
		fence:  func(c []byte) bool { return word(c)>>26 == 31 && (word(c)>>1&0x3ff == 598 || word(c)>>1&0x3ff == 854) }, // SYNC, EIEIO
		branch: regexp.MustCompile(`^B`), target: lastNumber, ret: little(0x4e800020),
		completes: little(0x7c0004ac),
		copies: map[string]copying{
			"throughCopy": {store: vectors, any: vectors, count: 8,
				flush: func(c []byte) bool { return word(c)&0xffff07ff == 0x7c00006c }, fence: little(0x7c0004ac)}, // DCBST, RA=0
		},
	},
}

// pairs reports a store of two vector registers, whichever way, on arm64.
func pairs(c []byte) bool { return word(c)&0xfc400000 == 0xac000000 }

// vectors reports STXVD2X on ppc64le.
func vectors(c []byte) bool { return word(c)>>26 == 31 && word(c)>>1&0x3ff == 972 }

// architectures are those of sets, in an order.
func architectures() []string { return []string{"amd64", "arm64", "ppc64le"} }

// goTool runs the go command for another processor; what is for it, is for this machine's Go.
func goTool(t *testing.T, directory, architecture string, arguments ...string) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to assemble and disassemble with")
	}
	c := exec.Command(path, arguments...)
	c.Dir = directory
	c.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+architecture, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	out, err := c.CombinedOutput()
	require.NoError(t, err, "go %s\n%s", strings.Join(arguments, " "), out)
	return string(out)
}

// sources returns the files that only one architecture has, by their ending.
func sources(t *testing.T, architecture, ending string) (files []string) {
	t.Helper()
	files, err := filepath.Glob("*_" + architecture + ending)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for i := range files {
		files[i], err = filepath.Abs(files[i])
		require.NoError(t, err)
	}
	return files
}

// disassemble returns the routines of an architecture's assembly.
func disassemble(t *testing.T, architecture string) map[string][]instruction {
	t.Helper()
	root := strings.TrimSpace(goTool(t, ".", architecture, "env", "GOROOT"))
	routines := map[string][]instruction{}
	for i, source := range sources(t, architecture, ".s") {
		object := filepath.Join(t.TempDir(), fmt.Sprint(i, ".o"))
		goTool(t, ".", architecture, "tool", "asm", "-p", "coherence", "-I", filepath.Join(root, "pkg", "include"),
			"-D", "GOOS_linux", "-D", "GOARCH_"+architecture, "-o", object, source)
		parse(t, goTool(t, ".", architecture, "tool", "objdump", object), architecture, routines)
	}
	return routines
}

var printed = regexp.MustCompile(`^\s+\S+:\d+\s+0x([0-9a-f]+)\s+([0-9a-f]+)\s+(.*\S)\s*$`)

func parse(t *testing.T, listing, architecture string, routines map[string][]instruction) {
	t.Helper()
	name := ""
	for line := range strings.Lines(listing) {
		if text, ok := strings.CutPrefix(line, "TEXT coherence."); ok {
			name = text[:strings.Index(text, "(")]
			continue
		}
		fields := printed.FindStringSubmatch(line)
		if fields == nil {
			continue
		}
		address, err := strconv.ParseInt(fields[1], 16, 64)
		require.NoError(t, err)
		code, err := hex.DecodeString(fields[2])
		require.NoError(t, err)
		if architecture != "amd64" {
			slices.Reverse(code) // objdump prints words
			if word(code) == 0 {
				continue // padding
			}
		}
		routines[name] = append(routines[name], instruction{address, code, fields[3]})
	}
}

// TestFlushRoutinesFlushEachLineOnce: in each there is one flush, of the kind that writes back and drops, in the one loop that
// there is, and the loop steps by a line, for which the sweep in flush_test.go is the proof by doing.
func TestFlushRoutinesFlushEachLineOnce(t *testing.T) {
	for _, architecture := range architectures() {
		s := sets[architecture]
		routines := disassemble(t, architecture)
		for name, right := range s.flushes {
			code := routines[name]
			require.NotEmpty(t, code, "%s: no routine %s", architecture, name)
			at := -1
			for i := range code {
				if s.flush(code[i].code) {
					require.Equal(t, -1, at, "%s: %s has two flushes", architecture, name)
					require.True(t, right(code[i].code), "%s: %s issues %x", architecture, name, code[i].code)
					at = i
				}
				last := i == len(code)-3 // then the count and the return
				require.Equal(t, last && s.completes != nil, s.fence(code[i].code), "%s: %s, %s: a flush waits for nothing but its processor, which completes it", architecture, name, code[i].text)
				if last && s.completes != nil {
					require.Equal(t, s.completes, code[i].code)
				}
			}
			require.GreaterOrEqual(t, at, 0, "%s: %s has no flush", architecture, name)
			begin, end := loop(t, s, code)
			require.True(t, begin <= code[at].address && code[at].address < end, "%s: the flush of %s is not in its loop", architecture, name)
			require.Equal(t, s.ret, code[len(code)-1].code, "%s: %s", architecture, name)
		}
		for name, code := range routines { // no other routine flushes
			_, flushes := s.flushes[name]
			if _, copies := s.copies[name]; !flushes && !copies {
				for _, i := range code {
					require.False(t, s.flush(i.code), "%s: %s flushes", architecture, name)
				}
			}
		}
	}
}

// TestCopyRoutinesStoreAsTheySay: what streams stores past the cache alone and ends with a store fence, without which step 3
// would begin too early; what writes through has one write-back in its loop, behind the stores.
func TestCopyRoutinesStoreAsTheySay(t *testing.T) {
	for _, architecture := range architectures() {
		s := sets[architecture]
		routines := disassemble(t, architecture)
		for name, want := range s.copies {
			code := routines[name]
			require.NotEmpty(t, code, "%s: no routine %s", architecture, name)
			begin, end := loop(t, s, code)
			stores, flushes := 0, 0
			for i := range code {
				inside := begin <= code[i].address && code[i].address < end
				if want.any(code[i].code) {
					require.True(t, inside && want.store(code[i].code), "%s: %s stores by %s", architecture, name, code[i].text)
					require.Zero(t, flushes, "%s: %s stores after the line was written back", architecture, name)
					stores++
				}
				if s.flush(code[i].code) {
					require.True(t, inside && want.flush != nil && want.flush(code[i].code), "%s: %s issues %s", architecture, name, code[i].text)
					flushes++
				}
				last := i == len(code)-2
				require.Equal(t, last && want.fence != nil, s.fence(code[i].code), "%s: %s, %s", architecture, name, code[i].text)
				if last && want.fence != nil {
					require.Equal(t, want.fence, code[i].code, "%s: %s ends with %s", architecture, name, code[i].text)
				}
			}
			require.Equal(t, want.count, stores, "%s: stores of %s", architecture, name)
			require.Equal(t, want.flush != nil, flushes == 1, "%s: write-backs of %s: %d", architecture, name, flushes)
			require.Equal(t, s.ret, code[len(code)-1].code)
		}
	}
}

// loop returns where the only loop of a routine begins and where its branch back lies.
func loop(t *testing.T, s set, code []instruction) (begin, end int64) {
	t.Helper()
	found := 0
	for _, i := range code {
		if s.branch.MatchString(i.text) {
			if to := s.target(i); to <= i.address {
				begin, end = to, i.address
				found++
			}
		}
	}
	require.Equal(t, 1, found, "loops")
	return begin, end
}

// TestFencesAreTheRightOnes: a full fence is MFENCE, DSB SY, HWSYNC, a store fence SFENCE or a full one; nothing else is in
// them, and nothing else in the assembly fences but what is asked to.
func TestFencesAreTheRightOnes(t *testing.T) {
	for _, architecture := range architectures() {
		s := sets[architecture]
		routines := disassemble(t, architecture)
		for name, want := range s.fences {
			code := routines[name]
			require.Len(t, code, 2, "%s: %s is a fence and a return", architecture, name)
			require.Equal(t, want, code[0].code, "%s: %s is %s", architecture, name, code[0].text)
			require.Equal(t, s.ret, code[1].code)
		}
	}
}

// TestAssemblyIsVetted holds the frames of the assembly against the Go declarations for every architecture, in a package
// with nothing else in it, so that no library must be built for it.
func TestAssemblyIsVetted(t *testing.T) {
	for _, architecture := range architectures() {
		directory := t.TempDir()
		write := func(name, text string) {
			require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644))
		}
		write("go.mod", "module flush\n\ngo 1.26\n")
		write("features.go", "package coherence\n\ntype Features struct {\n\tLineSize    int\n\tInstruction string\n}\n")
		for _, ending := range []string{".go", ".s"} {
			for _, path := range sources(t, architecture, ending) {
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				write(filepath.Base(path), string(b))
			}
		}
		goTool(t, directory, architecture, "vet", ".")
	}
}

// TestOneCallFlushesAtMostAMebibyte: what cannot be preempted is short.
func TestOneCallFlushesAtMostAMebibyte(t *testing.T) {
	data := make([]byte, 5<<20)
	var calls []int
	l, err := newCPULines(Features{LineSize: 64, Instruction: "none"}, func(_ *byte, size, _ int) int {
		calls = append(calls, size)
		return 0
	})
	require.NoError(t, err)
	for _, r := range [][2]int{{0, 5 << 20}, {1, 3<<20 + 17}, {63, 1<<20 + 64}, {0, 0}, {7, 8}} {
		calls = nil
		l.Flush(data[r[0]:r[1]])
		total := 0
		for _, size := range calls {
			require.LessOrEqual(t, size, 1<<20)
			total += size
		}
		require.Equal(t, r[1]-r[0], total)
	}
}

// TestReaderFencesFullyOnBothSides: SFENCE orders no loads, so a reader's two fences are full; a writer begins with a
// store fence, for what went past the cache, and ends with a full one, because a message follows.
func TestReaderFencesFullyOnBothSides(t *testing.T) {
	for _, class := range []Class{Incoherent, IncoherentHomeSnoop} {
		reader := NewReaderCore(class)
		require.Equal(t, []ActionKind{ActionFenceFull, ActionFlush, ActionFenceFull, ActionVerify}, kinds(reader.Acquire(Writing{1, 1})))
		writer := NewWriterCore(class, 1, memregion.Range{Length: memregion.PageSize})
		list, err := writer.Clean()
		require.NoError(t, err)
		require.Equal(t, []ActionKind{ActionFenceStore, ActionFlush, ActionFenceFull, ActionReport}, kinds(list))
		writer = NewWriterCore(class, 1, memregion.Range{Length: memregion.PageSize})
		list, err = writer.Abort()
		require.NoError(t, err)
		require.Equal(t, []ActionKind{ActionFenceStore, ActionFlush, ActionFenceFull, ActionReport}, kinds(list))
	}
	var lines orderedLines
	f := Flusher{&lines, &Counters{}}
	for _, a := range NewReaderCore(Incoherent).Acquire(Writing{1, 1})[:3] {
		f.Do(a, make([]byte, 64))
	}
	require.Equal(t, []string{"full", "flush", "full"}, lines.calls)
}

func kinds(list []Action) (kinds []ActionKind) {
	for _, a := range list {
		kinds = append(kinds, a.Kind)
	}
	return kinds
}

// orderedLines notes what is called.
type orderedLines struct{ calls []string }

func (l *orderedLines) Flush([]byte) int { l.calls = append(l.calls, "flush"); return 0 }
func (l *orderedLines) FenceStore()      { l.calls = append(l.calls, "store") }
func (l *orderedLines) FenceFull()       { l.calls = append(l.calls, "full") }
