package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// The files' names.
const (
	AuthorityCertificate = "ca.crt"
	AuthorityKey         = "ca.key"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	issuedLife    = 365 * 24 * time.Hour
	// clockSkew is by how much other machines' clocks may be behind this one's.
	clockSkew = 5 * time.Minute
	serialBit = 127
)

// Authority signs certificates of one cluster.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// CreateAuthority makes an authority for a cluster and writes ca.crt and ca.key into the directory, which is made if it
// is not there. It never overwrites: replacing an authority makes every certificate of the cluster worthless.
func CreateAuthority(directory, cluster string) (*Authority, error) {
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "csmsql authority of " + cluster, Organization: []string{"csmsql"}},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(authorityLife),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	pair, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	if err := pair.write(filepath.Join(directory, AuthorityCertificate), filepath.Join(directory, AuthorityKey)); err != nil {
		return nil, err
	}
	return &Authority{certificate: pair.certificate, key: key}, nil
}

// LoadAuthority reads what CreateAuthority wrote.
func LoadAuthority(directory string) (*Authority, error) {
	certificates, err := readCertificates(filepath.Join(directory, AuthorityCertificate))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(directory, AuthorityKey)
	key, err := readKey(path)
	if err != nil {
		return nil, err
	}
	own, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, failure(ErrMalformed, "%s is no ECDSA key", path).hint("An authority of other kind signs certificates with its own tools.")
	}
	c := certificates[0]
	switch {
	case !own.PublicKey.Equal(c.PublicKey):
		return nil, failure(ErrMismatch, "%s is not the key of %s", path, AuthorityCertificate).hint("Take both files from the same place.")
	case !c.IsCA:
		return nil, failure(ErrMalformed, "%s in %s is no authority's certificate", AuthorityCertificate, directory)
	}
	return &Authority{certificate: c, key: own}, checkTime(AuthorityCertificate, c)
}

// IssueOptions of Issue. The zero value serves.
type IssueOptions struct {
	// Hosts are names and addresses that other programs check, such as etcd's; csmsql itself does not (T2).
	Hosts []string
	// From and Until bound the certificate's life; zero: from now on, for a year. It never outlives the authority.
	From, Until time.Time
}

// Pair is a certificate with its key, not yet written.
type Pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	authority   *x509.Certificate // nil: it is the authority
}

// Issue makes a key and a certificate for it.
func (a *Authority) Issue(who Identity, options IssueOptions) (*Pair, error) {
	if err := who.Check(); err != nil {
		return nil, failure(ErrNoIdentity, "cannot make a certificate: %v", err).hint("Choose another name.")
	}
	template := a.template(who, options)
	for _, host := range options.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	if !template.NotAfter.After(template.NotBefore) {
		return nil, failure(ErrExpired, "cannot make a certificate for %v: it would end at %v, before it begins", who, template.NotAfter).
			hint("The authority's own certificate may have expired: make a new authority in another directory.")
	}
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	return sign(template, a.certificate, key, a.key)
}

func (a *Authority) template(who Identity, options IssueOptions) *x509.Certificate {
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: who.Name, Organization: []string{"csmsql"}, OrganizationalUnit: []string{string(who.Role)}},
		NotBefore: options.From, NotAfter: options.Until, URIs: []*url.URL{who.uri()},
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if who.Role == RoleNode { // every node is a client of every other one
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	if t.NotBefore.IsZero() {
		t.NotBefore = time.Now().Add(-clockSkew)
	}
	if t.NotAfter.IsZero() {
		t.NotAfter = time.Now().Add(issuedLife)
	}
	if t.NotAfter.After(a.certificate.NotAfter) {
		t.NotAfter = a.certificate.NotAfter
	}
	return t
}

// Write writes ROLE.crt, ROLE.key and the authority's ca.crt into the directory. What is there already is left alone
// and an error, except for the same ca.crt.
func (p *Pair) Write(directory string) error {
	who, err := IdentityOf(p.certificate)
	if err != nil {
		return err
	}
	if err := p.writeAuthority(directory); err != nil {
		return err
	}
	files := FilesIn(directory, who.Role)
	return p.write(files.Certificate, files.Key)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

func sign(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) (*Pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %q: %w", template.Subject, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %q: %w", template.Subject, err)
	}
	p := &Pair{certificate: certificate, key: key}
	if parent != template {
		p.authority = parent
	}
	return p, nil
}

// serial is random, as two authorities' or two runs' numbers must not meet.
func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBit))
	if err != nil {
		panic("certificate: the system has no random numbers: " + err.Error()) // never, says crypto/rand
	}
	return n
}

// removeAll takes back what a failed write left.
func removeAll(paths []string) {
	for _, path := range paths {
		_ = os.Remove(path) // the error that led here is the one to report
	}
}
