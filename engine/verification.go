package engine

import (
	"fmt"

	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/sql/setting"
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

// verifyAuto is what the setting calls VerifyDefault; DEFAULT is a word of SET.
const verifyAuto = "auto"

// settingOf is the value of setting.Verify.
func settingOf(v Verification) string {
	if v == VerifyDefault {
		return verifyAuto
	}
	return string(v)
}

// verificationOf reads a value of setting.Verify, of a session on a node that does what own says. It can be no laxer: what
// a session read unverified it could write into a table, where the damage has a checksum of its own and nobody finds it
// any more. And other sessions read what one of them has acquired.
func verificationOf(value string, own Verification) (Verification, error) {
	wanted := Verification(value)
	if value == verifyAuto {
		wanted = VerifyDefault
	}
	hint := ""
	switch {
	case value == "" || wanted.Check() != nil:
		hint = "Available values: off, auto, first, always."
	case wanted.Laxer(own):
		hint = fmt.Sprintf("The node verifies chunks with %q, and a session can only be stricter.", settingOf(own))
	default:
		return wanted, nil
	}
	return own, sqlerror.New("22023", "invalid value for parameter %q: %q", setting.Verify, value).WithHint(hint)
}

// verification says when what the session reads is compared.
func (s *Session) verification() Verification {
	own := s.engine.reader.Verification()
	set, is := s.settings.values[setting.Verify]
	if !is { // what nearly every statement finds
		return own
	}
	if v, err := verificationOf(set, own); err == nil {
		return v
	}
	return own
}

func (s *Session) readings() *reader.Readings { return s.engine.reader.Readings(s.verification()) }
