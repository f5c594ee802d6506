package certificate_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/csmsql/csmsql/cluster/certificate"
)

// What “csmsql cluster cert” does: once an authority, then a certificate for each node and each operator's tool.
func Example() {
	place, err := os.MkdirTemp("", "cluster")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(place) //nolint:errcheck // an example's

	authority, err := certificate.CreateAuthority(filepath.Join(place, "authority"), "my-cluster")
	if err != nil {
		panic(err)
	}
	pair, err := authority.Issue(certificate.Identity{Role: certificate.RoleNode, Name: "n1"}, certificate.IssueOptions{Hosts: []string{"n1.example"}})
	if err != nil {
		panic(err)
	}
	if err := pair.Write(filepath.Join(place, "n1")); err != nil {
		panic(err)
	}

	// On the node:
	credentials, err := certificate.Load(certificate.FilesIn(filepath.Join(place, "n1"), certificate.RoleNode))
	if err != nil {
		panic(err)
	}
	fmt.Println(credentials.Identity())
	// Output: csmsql://node/n1
}
