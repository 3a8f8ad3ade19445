package provider

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// origins tell where the settings came from: one that is wrong can be in the
// provider block, in the environment or in a context, and whoever has to mend it
// may not know of all three.
type origins struct{ servers, credentials, ca, cert string }

const (
	inBlock       = "the provider block"
	inEnvironment = "the environment"
)

// setting is a value and what it is called where it came from.
type setting struct{ name, value string }

// origin names those of the settings that have a value, and the place.
func origin(place string, settings ...setting) string {
	var names []string
	for _, s := range settings {
		if s.value != "" {
			names = append(names, s.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, " and ") + " in " + place
}

// joined is two origins as one, of which either may be none.
func joined(a, b string) string {
	if a != "" && b != "" {
		return a + ", " + b
	}
	return a + b
}

// origin names the context, if there is one.
func (c natsContext) origin() string {
	if c.name == "" {
		return ""
	}
	return fmt.Sprintf("the context %q", c.name)
}

// findServers finds the servers, if the block names none.
func (s *settings) findServers(getenv func(string) string, named natsContext) {
	s.from.servers = "servers in " + inBlock
	if len(s.servers) != 0 {
		return
	}
	if s.servers, s.from.servers = splitServers(getenv("NATS_URL")), "NATS_URL in "+inEnvironment; len(s.servers) != 0 {
		return
	}
	if s.servers, s.from.servers = splitServers(named.URL), named.origin(); len(s.servers) != 0 {
		return
	}
	s.servers, s.from.servers = []string{nats.DefaultURL}, "the default, as neither servers nor NATS_URL nor a context names any"
}

// origins tells where the certificates come from, by the same rules as settings.
func (m tlsModel) origins(getenv func(string) string, named natsContext) (ca, cert string) {
	text := func(v interface{ ValueString() string }) string { return v.ValueString() }
	ca = origin(inBlock, setting{"tls.ca_file", text(m.CAFile)}, setting{"tls.ca_pem", text(m.CAPEM)})
	if ca == "" {
		ca = origin(inEnvironment, setting{"NATS_CA", getenv("NATS_CA")})
	}
	cert = origin(inBlock, setting{"tls.cert_file", text(m.CertFile)}, setting{"tls.cert_pem", text(m.CertPEM)},
		setting{"tls.key_file", text(m.KeyFile)}, setting{"tls.key_pem", text(m.KeyPEM)})
	if cert == "" {
		cert = origin(inEnvironment, setting{"NATS_CERT", getenv("NATS_CERT")}, setting{"NATS_KEY", getenv("NATS_KEY")})
	}
	if ca == "" {
		ca = named.origin()
	}
	if cert == "" {
		cert = named.origin()
	}
	return ca, cert
}
