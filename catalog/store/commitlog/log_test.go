package commitlog_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/store/commitlog"
)

func open(t require.TestingT, file commitlog.File, life, number uint64) *commitlog.Log {
	l, err := commitlog.New(file, life, number)
	require.NoError(t, err)
	return l
}

// write appends and syncs a record that says its number.
func write(t require.TestingT, l *commitlog.Log, number uint64, bytes int) {
	require.NoError(t, l.Append(payload(number, bytes)))
	require.NoError(t, l.Sync())
}

func payload(number uint64, size int) []byte {
	b := bytes.Repeat([]byte{byte(number)}, size)
	return append(fmt.Appendf(nil, "%d ", number), b...)
}

func numbers(records []commitlog.Record) (list []uint64) {
	for _, r := range records {
		list = append(list, r.Number)
	}
	return list
}

func TestEachRecordCostsOneSync(t *testing.T) {
	file := newShim()
	l := open(t, file, 1, 0)
	write(t, l, 1, 100)
	first := file.syncs
	for n := uint64(2); n < 100; n++ {
		write(t, l, n, 100)
	}
	require.Equal(t, 98, file.syncs-first)
	size := len(file.seen)
	require.NoError(t, l.Sync())
	require.Equal(t, 98, file.syncs-first, "there was nothing to sync")
	for range 200 { // the file was made ready once
		l.Restart(100)
		write(t, l, 101, 1000)
	}
	require.Len(t, file.seen, size)
}

// TestPowerCut writes, loses power, and reads, again and again (CM1, CM4): what was synced is there, and of the rest no
// more than a prefix; what is not read then never is.
func TestPowerCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		file, number := newShim(), uint64(0)
		for life := uint64(1); life < 6; life++ {
			l := open(rt, file, life, number)
			settled, written := number, map[uint64][]byte{}
			synced := number
			for range r.IntN(25) {
				p := payload(number+1, r.IntN(1<<(4+r.IntN(16))))
				p[r.IntN(len(p))] = byte(life)
				if !l.Fits(len(p)) {
					settled = number // as if the store had settled all in time
					l.Turn()
				}
				require.NoError(rt, l.Append(p))
				number++
				written[number] = p
				if r.IntN(3) == 0 {
					require.NoError(rt, l.Sync())
					synced = number
				}
				require.Equal(rt, synced != number, l.Unsynced())
			}
			killed, _, err := commitlog.Read(file, life, settled)
			require.NoError(rt, err)
			require.Len(rt, killed, int(number-settled), "the death of a process loses nothing")
			file = file.cut(r)
			records, _, err := commitlog.Read(file, life, settled)
			require.NoError(rt, err)
			require.GreaterOrEqual(rt, settled+uint64(len(records)), max(settled, synced))
			for i, record := range records {
				require.Equal(rt, settled+1+uint64(i), record.Number)
				require.Equal(rt, written[record.Number], record.Payload)
			}
			number = settled + uint64(len(records))
		}
	})
}

// CM2: each byte of a record that was synced before the last one.
func TestDamage(t *testing.T) {
	file := newShim()
	l := open(t, file, 7, 0)
	ends := []int64{0}
	for n := uint64(1); n <= 5; n++ {
		write(t, l, n, 50)
		ends = append(ends, ends[n-1]+commitlog.Needs(len(payload(n, 50))))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for at := int64(0); at < ends[5]; at++ {
		damaged := newShim()
		damaged.seen = bytes.Clone(file.seen)
		damaged.seen[at] ^= 1 << r.IntN(8)
		records, torn, err := commitlog.Read(damaged, 7, 0)
		padding := len(records) == 5 && err == nil && !torn
		if at < ends[4] {
			require.True(t, padding || err != nil, "byte %d", at)
			if err != nil {
				require.ErrorIs(t, err, commitlog.ErrDamaged)
				require.ErrorContains(t, err, "record")
			}
			continue
		}
		require.NoError(t, err, "nothing came after it: it may never have been whole")
		require.GreaterOrEqual(t, len(records), 4)
	}
	short := newShim()
	short.seen = file.seen[:ends[5]-20]
	records, torn, err := commitlog.Read(short, 7, 0)
	require.NoError(t, err)
	require.True(t, torn)
	require.Equal(t, []uint64{1, 2, 3, 4}, numbers(records))
}

// CM3: a record that could not be written is not there, and the next one is.
func TestFailedWrite(t *testing.T) {
	file := newShim()
	l := open(t, file, 1, 0)
	write(t, l, 1, 100)
	file.writes = 0
	require.ErrorIs(t, l.Append(payload(2, 3000)), commitlog.ErrUnknown, "it could not be taken back either")
	require.Error(t, l.Failed())

	file = newShim()
	l = open(t, file, 1, 0)
	write(t, l, 1, 100)
	failing := &failsOnce{shim: file}
	l = open(t, failing, 2, 1)
	write(t, l, 2, 100)
	failing.fail = true
	err := l.Append(payload(3, 3000))
	require.ErrorIs(t, err, errDisk)
	require.NotErrorIs(t, err, commitlog.ErrUnknown)
	records, torn, err := commitlog.Read(file, 2, 1)
	require.NoError(t, err)
	require.False(t, torn)
	require.Equal(t, []uint64{2}, numbers(records))
	write(t, l, 3, 10)
	records, _, err = commitlog.Read(file, 2, 1)
	require.NoError(t, err)
	require.Equal(t, []uint64{2, 3}, numbers(records))
	require.Equal(t, payload(3, 10), records[1].Payload)
}

// failsOnce writes all of one record, and says that it failed.
type failsOnce struct {
	*shim
	fail bool
}

func (f *failsOnce) WriteAt(p []byte, at int64) (int, error) {
	n, err := f.shim.WriteAt(p, at)
	if f.fail {
		f.fail = false
		return n, errDisk
	}
	return n, err
}

// A sync that failed may have lost what was written before: nothing is trusted any more.
func TestFailedSync(t *testing.T) {
	file := newShim()
	l := open(t, file, 1, 0)
	write(t, l, 1, 100)
	require.NoError(t, l.Append(payload(2, 100)))
	file.works = 0
	require.ErrorIs(t, l.Sync(), commitlog.ErrUnknown)
	file.works = -1
	require.ErrorIs(t, l.Sync(), commitlog.ErrUnknown)
	require.ErrorIs(t, l.Append(payload(3, 100)), commitlog.ErrUnknown)
}

// What lies in a payload is no record, even if it looks like one.
func TestPayloadsAreNotRead(t *testing.T) {
	file := newShim()
	write(t, open(t, file, 1, 11), 12, 100)
	forged := bytes.Clone(file.seen[:commitlog.Needs(len(payload(12, 100)))])
	file = newShim()
	require.NoError(t, open(t, file, 1, 10).Append(append(make([]byte, 8), forged...)))
	records, torn, err := commitlog.Read(file, 1, 10)
	require.NoError(t, err)
	require.False(t, torn)
	require.Equal(t, []uint64{11}, numbers(records))
}

func FuzzRead(f *testing.F) {
	file := newShim()
	l := open(f, file, 1, 0)
	write(f, l, 1, 10)
	write(f, l, 2, 10)
	f.Add(file.seen[:200])
	f.Fuzz(func(_ *testing.T, image []byte) {
		file := newShim()
		file.seen = image
		_, _, _ = commitlog.Read(file, 1, 0)
	})
}
