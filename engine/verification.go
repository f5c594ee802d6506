package engine

import (
	"fmt"

	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Verification says when a chunk's bytes are compared with the checksums that it was sealed with.
type Verification = reader.Verification

// The verifications.
const (
	VerifyDefault = reader.VerifyDefault
	VerifyOff     = reader.VerifyOff
	VerifyFirst   = reader.VerifyFirst
	VerifyAlways  = reader.VerifyAlways
)

// DamagedError says that bytes of a sealed chunk are not there or not what was sealed.
type DamagedError = reader.DamagedError

// verifySetting is the setting by which a session has more compared than its node does. It can have no less: what it read unverified it
// could write into a table, where the damage has a checksum of its own and nobody finds it any more. And other sessions read
// what one of them has acquired.
const verifySetting = "csm.verify"

// verifyAuto is what the setting calls VerifyDefault; DEFAULT is a word of SET.
const verifyAuto = "auto"

// settingOf is the value of verifySetting.
func settingOf(v Verification) string {
	if v == VerifyDefault {
		return verifyAuto
	}
	return string(v)
}

// verificationOf reads a value of verifySetting, of a session on a node that does what own says.
func verificationOf(setting string, own Verification) (Verification, error) {
	wanted := Verification(setting)
	if setting == verifyAuto {
		wanted = VerifyDefault
	}
	hint := ""
	switch {
	case setting == "" || wanted.Check() != nil:
		hint = "Available values: off, auto, first, always."
	case wanted.Laxer(own):
		hint = fmt.Sprintf("The node verifies chunks with %q, and a session can only be stricter.", settingOf(own))
	default:
		return wanted, nil
	}
	return own, sqlerror.New("22023", "invalid value for parameter %q: %q", verifySetting, setting).WithHint(hint)
}

// verification says when what the session reads is compared.
func (s *Session) verification() Verification {
	own := s.engine.reader.Verification()
	set, is := s.settings.values[verifySetting]
	if !is { // what nearly every statement finds
		return own
	}
	if v, err := verificationOf(set, own); err == nil {
		return v
	}
	return own
}

func (s *Session) readings() *reader.Readings { return s.engine.reader.Readings(s.verification()) }
