package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"time"
)

// verifyError puts x509's error into our words.
func verifyError(c *x509.Certificate, err error) error {
	var invalid x509.CertificateInvalidError
	var own *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		if timeErr := checkTime("the certificate", c); timeErr != nil {
			return timeErr
		}
		return failure(ErrExpired, "the authority of certificate %q: %v", c.Subject, err).hint(hintRenew) // in the chain
	}
	return failure(ErrForeign, "certificate %q is not signed by this cluster's authority: %v", c.Subject, err).hint(hintForeign)
}

// Refusal explains a handshake that failed at the server, for its log and its counters.
type Refusal struct {
	// Reason is a word for a counter's label: one of RefusalReasons.
	Reason string
	// Subject is what the certificate says, if there was one; nothing of it is verified.
	Subject string
	Err     error
}

// RefusalReasons are all values of Refusal.Reason.
var RefusalReasons = []string{"no_certificate", "expired", "not_yet_valid", "foreign_authority", "no_identity", "no_tls", "gone", "other"}

// ExplainRefusal finds out why a server's handshake failed.
func ExplainRefusal(err error) Refusal {
	r := Refusal{Reason: "other", Err: err}
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) && len(verification.UnverifiedCertificates) > 0 {
		c := verification.UnverifiedCertificates[0]
		r.Subject = describe(c)
		r.Err = verifyError(c, verification.Err)
	}
	var header tls.RecordHeaderError
	var netError net.Error
	switch {
	case errors.Is(r.Err, ErrNotYetValid):
		r.Reason = "not_yet_valid"
	case errors.Is(r.Err, ErrExpired):
		r.Reason = "expired"
	case errors.Is(r.Err, ErrForeign):
		r.Reason = "foreign_authority"
	case errors.Is(r.Err, ErrNoIdentity):
		r.Reason = "no_identity"
	case errors.As(err, &header), strings.Contains(err.Error(), "first record does not look like a TLS handshake"):
		r.Reason, r.Err = "no_tls", failure(ErrPlainText, "the peer does not speak TLS: %v", err)
	case strings.Contains(err.Error(), "didn't provide a certificate"): // crypto/tls has no kind for it
		r.Reason, r.Err = "no_certificate", failure(ErrNoCertificate, "the peer showed no certificate")
	case errors.Is(err, net.ErrClosed), errors.As(err, &netError), strings.HasSuffix(err.Error(), "EOF"):
		r.Reason = "gone"
	}
	return r
}

// describe is a certificate as a log shows it: whatever it says, verified or not.
func describe(c *x509.Certificate) string {
	text := c.Subject.String() + ", serial " + Serial(c) + ", until " + c.NotAfter.UTC().Format(time.RFC3339)
	if who, err := IdentityOf(c); err == nil {
		text = who.String() + " (" + text + ")"
	}
	return text
}

// Describe is a verified peer's certificate as a log shows it.
func Describe(c *x509.Certificate) string { return describe(c) }

// alerts are the errors that a client gets from a server that refuses it, in crypto/tls' words, which have no kind.
var alerts = []struct {
	text, said string
	kind       error
}{
	{"certificate required", "it wants a certificate and was shown none", ErrNoCertificate},
	{"expired certificate", "the certificate has expired, says its clock", ErrExpired},
	{"unknown certificate authority", "the certificate is of another authority than the node's", ErrForeign},
	{"unknown authority", "the certificate is of another authority than the node's", ErrForeign},
	{"bad certificate", "the certificate is not one of this cluster", ErrForeign},
}

// ExplainAlert finds out whether an error is a server's refusal of this side's certificate, and puts it into our words.
// It returns nil if it is something else.
func (c *Credentials) ExplainAlert(err error) error {
	if err == nil || !strings.Contains(err.Error(), "remote error: tls: ") {
		return nil
	}
	for _, a := range alerts {
		if strings.Contains(err.Error(), a.text) {
			return &Error{Kind: a.kind, Message: "the node refused the certificate of " + c.identity.String() + ": " + a.said, HintText: hintForeign}
		}
	}
	return &Error{Kind: ErrForeign, Message: "the node refused the certificate of " + c.identity.String() + ": " + err.Error(), HintText: hintForeign}
}
