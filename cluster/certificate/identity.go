package certificate

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"
)

// Role says what the holder of a certificate is.
type Role string

// The roles.
const (
	// RoleNode is a node of the cluster: it may lend, borrow and run fragments.
	RoleNode Role = "node"
	// RoleClient is an operator's tool: it may look, load and drain, and holds no memory of others.
	RoleClient Role = "client"
)

const (
	scheme       = "csmsql"
	maxNameBytes = 63
)

// Identity names the holder of a certificate (T2).
type Identity struct {
	Role Role
	Name string
}

func (i Identity) String() string { return scheme + "://" + string(i.Role) + "/" + i.Name }

// Check returns what is wrong with an identity that is asked for. Names are as narrow as those of hosts, so that they
// need no quoting in a URI, a file name or a log.
func (i Identity) Check() error {
	if i.Role != RoleNode && i.Role != RoleClient {
		return fmt.Errorf("role %q is neither %q nor %q", i.Role, RoleNode, RoleClient)
	}
	good := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
	}
	switch {
	case i.Name == "" || len(i.Name) > maxNameBytes:
		return fmt.Errorf("name %q has %d bytes, 1 to %d are allowed", i.Name, len(i.Name), maxNameBytes)
	case strings.IndexFunc(i.Name, func(r rune) bool { return !good(r) }) >= 0:
		return fmt.Errorf("name %q has characters other than letters, digits, '-', '_' and '.'", i.Name)
	case strings.IndexByte("-.", i.Name[0]) >= 0:
		return fmt.Errorf("name %q begins with %q", i.Name, i.Name[:1])
	}
	return nil
}

func (i Identity) uri() *url.URL {
	return &url.URL{Scheme: scheme, Host: string(i.Role), Path: "/" + i.Name}
}

// IdentityOf reads the one identity of a certificate (T2). It does not verify the certificate.
func IdentityOf(c *x509.Certificate) (Identity, error) {
	var found []Identity
	for _, u := range c.URIs {
		if u.Scheme != scheme {
			continue
		}
		i := Identity{Role: Role(u.Host), Name: strings.TrimPrefix(u.Path, "/")}
		if i.Check() != nil || u.String() != i.String() { // also refuses users, ports, queries, fragments, escapes
			return Identity{}, failure(ErrNoIdentity, "certificate %q has the URI %q, which names no node and no client", c.Subject, u).hint(hintIdentity)
		}
		found = append(found, i)
	}
	if len(found) != 1 {
		return Identity{}, failure(ErrNoIdentity, "certificate %q has %d URIs of the form %s://node/NAME, one is wanted", c.Subject, len(found), scheme).hint(hintIdentity)
	}
	return found[0], nil
}
