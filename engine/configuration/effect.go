package configuration

import (
	"fmt"

	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Disabled reads a value of setting.Disable.
func Disabled(list string) (optimization.Set, error) {
	set, unknown := optimization.Parse(list)
	if unknown != "" {
		return set, sqlerror.New("22023", "invalid value for parameter %q: %q", setting.Disable, unknown).
			WithHint(fmt.Sprintf("Available values, with commas between them: %s.", optimization.Names()))
	}
	return set, nil
}

// Without is what the session's queries do without. Of what another node's session asks for, which may be newer, this
// one leaves out what it knows.
func (s *Session) Without() optimization.Set {
	list, set := s.Given[setting.Disable]
	if !set {
		list = s.node.Disable
	}
	out, _ := optimization.Parse(list)
	return out
}

// verifyAuto is what the setting calls reader.VerifyDefault; DEFAULT is a word of SET.
const verifyAuto = "auto"

// VerifyWord is the value of setting.Verify.
func VerifyWord(v reader.Verification) string {
	if v == reader.VerifyDefault {
		return verifyAuto
	}
	return string(v)
}

// VerificationOf reads a value of setting.Verify, of a session on a node that does what own says. It can be no laxer
// (CG3).
func VerificationOf(value string, own reader.Verification) (reader.Verification, error) {
	wanted := reader.Verification(value)
	if value == verifyAuto {
		wanted = reader.VerifyDefault
	}
	hint := ""
	switch {
	case value == "" || wanted.Check() != nil:
		hint = "Available values: off, auto, first, always."
	case wanted.Laxer(own):
		hint = fmt.Sprintf("The node verifies chunks with %q, and a session can only be stricter.", VerifyWord(own))
	default:
		return wanted, nil
	}
	return own, sqlerror.New("22023", "invalid value for parameter %q: %q", setting.Verify, value).WithHint(hint)
}

// Verification says when what the session reads is compared.
func (s *Session) Verification() reader.Verification {
	own := s.node.Verification
	set, is := s.Given[setting.Verify]
	if !is { // what nearly every statement finds
		return own
	}
	if v, err := VerificationOf(set, own); err == nil {
		return v
	}
	return own
}

// VerifyAs has reads compared as another node's session wants it, if that is stricter than this node is.
func (s *Session) VerifyAs(wanted string) error {
	own := s.node.Verification
	s.Put(setting.Verify, VerifyWord(own))
	if wanted == "" {
		return nil // its node knows no such setting
	}
	v, err := VerificationOf(wanted, reader.VerifyOff)
	if err == nil && own.Laxer(v) {
		s.Put(setting.Verify, VerifyWord(v))
	}
	return err
}

// What the session keeps of settings is charged: estimates, above what was measured.
const (
	// valueCopies: the value, its name or its parts, and what DuckDB has of it for pg_settings, as text, as a tree and
	// in its catalog.
	valueCopies = 8
	valueLeast  = 256
)

// Bytes is what keeping a value takes.
func Bytes(name, value string) int64 { return valueLeast + valueCopies*int64(len(name)+len(value)) }

// BytesOf is what keeping several sets of values takes, which share those that are the same. nil is none.
func (s *Session) BytesOf(sets ...*Values) (bytes int64) {
	seen := map[string]bool{}
	for _, x := range sets {
		if x == nil {
			continue
		}
		for name, value := range x.Given {
			if began, is := s.started[name]; !seen[name+"="+value] && (!is || began != value) {
				seen[name+"="+value] = true
				bytes += Bytes(name, value)
			}
		}
	}
	return bytes
}
