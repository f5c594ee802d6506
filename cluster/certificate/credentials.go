package certificate

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Credentials are what a node or a tool shows others, and what it wants of them. Immutable.
type Credentials struct {
	identity Identity
	chain    tls.Certificate
	roots    *x509.CertPool
}

// Load reads a certificate, its key and the authority's certificate, and checks everything about them that a peer
// would: that the key belongs to the certificate, that the authority signed it, that its time is now, and whose it is.
func Load(files Files) (*Credentials, error) {
	authorities, err := readCertificates(files.Authority)
	if err != nil {
		return nil, err
	}
	certificates, err := readCertificates(files.Certificate)
	if err != nil {
		return nil, err
	}
	key, err := readKey(files.Key)
	if err != nil {
		return nil, err
	}
	own := certificates[0]
	if public, ok := key.Public().(interface{ Equal(x crypto.PublicKey) bool }); !ok || !public.Equal(own.PublicKey) {
		return nil, failure(ErrMismatch, "%s is not the key of %s", files.Key, files.Certificate).hint("Take both files from the same place.")
	}
	c := &Credentials{roots: x509.NewCertPool(), chain: tls.Certificate{PrivateKey: key, Leaf: own}}
	for _, a := range authorities {
		c.roots.AddCert(a)
	}
	for _, x := range certificates {
		c.chain.Certificate = append(c.chain.Certificate, x.Raw)
	}
	if c.identity, err = IdentityOf(own); err != nil {
		return nil, named(files.Certificate, err)
	}
	if err := checkTime(files.Certificate, own); err != nil {
		return nil, err
	}
	if err := c.verify(certificates, c.identity.Role); err != nil {
		return nil, named(files.Certificate, err)
	}
	return c, nil
}

// named puts the file's name before an error about its content.
func named(path string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Message: path + ": " + e.Message, HintText: e.HintText, Kind: e.Kind}
	}
	return err
}

// Identity is whose credentials they are.
func (c *Credentials) Identity() Identity { return c.identity }

// Until is when the certificate expires.
func (c *Credentials) Until() time.Time { return c.chain.Leaf.NotAfter }

// verify reports whether the authority signed the first of certificates for all that its role does.
func (c *Credentials) verify(certificates []*x509.Certificate, role Role) error {
	options := x509.VerifyOptions{Roots: c.roots, Intermediates: x509.NewCertPool()}
	for _, x := range certificates[1:] {
		options.Intermediates.AddCert(x)
	}
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if role == RoleNode {
		usages = append(usages, x509.ExtKeyUsageServerAuth)
	}
	for _, usage := range usages {
		options.KeyUsages = []x509.ExtKeyUsage{usage} // of several one would do
		if _, err := certificates[0].Verify(options); err != nil {
			return verifyError(certificates[0], err)
		}
	}
	return nil
}

// Server is the configuration of a listener (T1, T3).
func (c *Credentials) Server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c.chain},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: c.roots, SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if _, err := Identify(s); err != nil {
				return &tls.CertificateVerificationError{UnverifiedCertificates: s.PeerCertificates, Err: err} // for the log
			}
			return nil
		},
	}
}

// Client is the configuration of a connection to a node (T1, T2). It must be the one named, or any of the cluster if
// the name is empty.
func (c *Credentials) Client(node string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		// Always shown, whatever authorities the server names: so it is the server that says, and logs, whose it
		// refuses.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c.chain, nil },
		// Not the host's name is to be verified but the node's: VerifyConnection does all that this skips, and more
		// (T2).
		InsecureSkipVerify: true,
		VerifyConnection:   func(s tls.ConnectionState) error { return c.verifyNode(s, node) },
	}
}

func (c *Credentials) verifyNode(s tls.ConnectionState, node string) error {
	who, err := Identify(s)
	if err != nil {
		return err
	}
	if who.Role != RoleNode {
		return failure(ErrWrongPeer, "what answers is %v, no node", who).hint("Look at the address: a tool does not serve.")
	}
	if err := c.verify(s.PeerCertificates, RoleNode); err != nil {
		return err
	}
	if node != "" && who.Name != node {
		return failure(ErrWrongPeer, "what answers is node %s, not %s", who.Name, node).
			hint("Look at the address, and at whether the node was given another one's certificate.")
	}
	return nil
}

// Identify returns the identity at the other end of a connection.
func Identify(s tls.ConnectionState) (Identity, error) {
	if len(s.PeerCertificates) == 0 {
		return Identity{}, failure(ErrNoCertificate, "the peer showed no certificate").hint(hintForeign)
	}
	return IdentityOf(s.PeerCertificates[0])
}

// Serial is a certificate's number as logs show it.
func Serial(c *x509.Certificate) string { return fmt.Sprintf("%x", c.SerialNumber) }
