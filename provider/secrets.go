package provider

import (
	"cmp"
	"slices"
	"strings"
)

// secrets are the values that must not appear in a log or a message, longest
// first, so that hiding one does not leave the rest of another.
func (s settings) secrets() []string {
	c := s.credentials
	all := []string{c.password, c.token, c.text, c.seed, c.jwt, s.tls.keyPEM}
	// What is in a file with several lines may be quoted line by line.
	for _, text := range []string{c.text, s.tls.keyPEM} {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "*") {
				all = append(all, line)
			}
		}
	}
	for _, server := range s.servers {
		_, user, _ := splitServer(server)
		_, password, _ := strings.Cut(user, ":")
		all = append(all, user, password)
	}
	all = slices.DeleteFunc(all, func(v string) bool { return v == "" })
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(all)
}

// redact removes secrets from a text that was made elsewhere.
func (s settings) redact(text string) string {
	for _, secret := range s.secrets() {
		text = strings.ReplaceAll(text, secret, "(hidden)")
	}
	return text
}

// shownServers are the servers as they may be shown: without user information.
func (s settings) shownServers() string {
	shown := make([]string, len(s.servers))
	for i, server := range s.servers {
		scheme, _, host := splitServer(server)
		shown[i] = scheme + "://" + host
	}
	return strings.Join(shown, ", ")
}

// splitServer takes a server's URL apart by hand, as one that can not be parsed
// may hold a secret too.
func splitServer(server string) (scheme, user, host string) {
	scheme, host, found := strings.Cut(server, "://")
	if !found {
		scheme, host = "nats", server
	}
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		user, host = host[:at], host[at+1:]
	}
	return scheme, user, host
}

func splitServers(list string) []string {
	var servers []string
	for server := range strings.SplitSeq(list, ",") {
		if server = strings.TrimSpace(server); server != "" {
			servers = append(servers, server)
		}
	}
	return servers
}
