package engine

import "github.com/csmsql/csmsql/engine/account"

// What SET and SAVEPOINT make a session keep is charged before. Values are shared by the settings, what a transaction brings back, and its savepoints, so that nobody
// knows when one is gone: what they all take is counted again when the charge has doubled, and when the transaction ends.

const (
	// settingCopies: the value, its name or its parts, and what DuckDB is told for pg_settings, as text, as a tree and in its catalog.
	settingCopies = 8
	settingLeast  = 256
	// settingsFree are not counted again: there is nothing to gain.
	settingsFree = 64 << 10
	// savepointLeast and savepointSetting are what a savepoint takes, and for each setting that has a value.
	savepointLeast   = 512
	savepointSetting = 3 * 64
)

func settingBytes(name, value string) int64 {
	return settingLeast + settingCopies*int64(len(name)+len(value))
}

// chargeSetting is for a value that is about to be kept.
func (s *Session) chargeSetting(name, value string) error {
	bytes := settingBytes(name, value)
	if s.settingsCharged+bytes > 2*s.settingsCounted+settingsFree {
		s.countSettings()
	}
	if err := s.Take(account.Setting, bytes); err != nil {
		return err
	}
	s.settingsCharged += bytes
	return nil
}

// countSettings charges what there is, and no more.
func (s *Session) countSettings() {
	if s.settingsCharged == 0 {
		return
	}
	seen, bytes := map[string]bool{}, int64(0)
	count := func(x *settings) {
		if x == nil {
			return
		}
		for name, value := range x.values {
			if _, began := s.started[name]; !seen[name+"="+value] && (!began || s.started[name] != value) {
				seen[name+"="+value] = true
				bytes += settingBytes(name, value)
			}
		}
	}
	count(&s.settings)
	if b := s.block; b != nil {
		count(b.before)
		count(b.after)
		for i := range b.savepoints {
			p := &b.savepoints[i]
			count(&p.settings)
			count(p.before)
			count(p.after)
		}
	}
	if bytes < s.settingsCharged {
		s.Give(account.Setting, s.settingsCharged-bytes)
		s.settingsCharged = bytes
	}
	s.settingsCounted = s.settingsCharged
}

// chargeSavepoint is for one that is about to be made.
func (s *Session) chargeSavepoint(b *block, name string) (bytes int64, err error) {
	bytes = savepointLeast + int64(len(name)) + savepointSetting*int64(len(s.settings.values)) + 16*int64(len(b.cursors))
	return bytes, s.Take(account.Savepoint, bytes)
}

// dropSavepoints forgets all from the i-th on.
func (s *Session) dropSavepoints(b *block, i int) {
	for _, p := range b.savepoints[i:] {
		s.Give(account.Savepoint, p.bytes)
	}
	clear(b.savepoints[i:])
	b.savepoints = b.savepoints[:i]
}

// endedBlock gives back what only the block that has ended kept.
func (s *Session) endedBlock(b *block) {
	s.dropSavepoints(b, 0)
	s.countSettings()
}
