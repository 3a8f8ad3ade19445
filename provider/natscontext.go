package provider

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// natsContext is a context of the nats CLI: a JSON file in its configuration
// folder. Only what a connection needs is read.
type natsContext struct {
	name string // as it was asked for; "" if none was

	URL         string `json:"url"`
	Token       string `json:"token"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Creds       string `json:"creds"`
	Nkey        string `json:"nkey"`
	UserJWT     string `json:"user_jwt"`
	UserSeed    string `json:"user_seed"`
	Cert        string `json:"cert"`
	Key         string `json:"key"`
	CA          string `json:"ca"`
	TLSFirst    bool   `json:"tls_first"`
	Domain      string `json:"jetstream_domain"`
	APIPrefix   string `json:"jetstream_api_prefix"`
	InboxPrefix string `json:"inbox_prefix"`

	// These change how the CLI connects too, and can not be done here. To pass
	// over them would be to connect to something else, or as somebody else.
	NSC            string `json:"nsc"`
	SocksProxy     string `json:"socks_proxy"`
	WindowsCert    string `json:"windows_cert_store"`
	WindowsMatch   string `json:"windows_cert_match"`
	WindowsMatchBy string `json:"windows_cert_match_by"`
}

// readContext reads the context of that name, or in that file.
func readContext(name string, getenv func(string) string) (natsContext, error) {
	c := natsContext{name: name}
	file := name
	if !strings.HasSuffix(name, ".json") {
		if strings.ContainsAny(name, `/\`) || strings.Contains(name, "..") {
			return c, fmt.Errorf("%q is neither the name of a context nor the path of a .json file", name)
		}
		config := getenv("XDG_CONFIG_HOME")
		if config == "" {
			home, err := homeFolder(getenv)
			if err != nil {
				return c, err
			}
			config = filepath.Join(home, ".config")
		}
		file = filepath.Join(config, "nats", "context", name+".json")
	}
	text, err := os.ReadFile(expandHome(file, getenv))
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("there is no context %q: %s does not exist. The command nats context ls lists those that do", name, file)
	}
	if err != nil {
		return c, fmt.Errorf("context %q: %w", name, err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		// Not wrapped: it could quote the text, with the secrets in it.
		return c, fmt.Errorf("context %q: %s is not a JSON object with the fields of a context", name, file)
	}
	for field, value := range map[string]string{
		"nsc": c.NSC, "socks_proxy": c.SocksProxy,
		"windows_cert_store": cmp.Or(c.WindowsCert, c.WindowsMatch, c.WindowsMatchBy),
	} {
		if value != "" {
			return c, fmt.Errorf("context %q sets %s, which this provider does not support. Make a context without it, or set the provider's own arguments", name, field)
		}
	}
	for _, path := range []*string{&c.Creds, &c.Nkey, &c.Cert, &c.Key, &c.CA} {
		*path = expandHome(*path, getenv)
	}
	return c, nil
}

// credentials are the context's, in the order in which the CLI looks at them.
func (c natsContext) credentials() credentials {
	switch {
	case c.User != "":
		return credentials{user: c.User, password: c.Password}
	case c.Creds != "":
		return credentials{file: c.Creds}
	case c.Nkey != "":
		return credentials{seedFile: c.Nkey}
	case c.UserJWT != "":
		return credentials{jwt: c.UserJWT, seed: c.UserSeed}
	}
	return credentials{token: c.Token}
}

func homeFolder(getenv func(string) string) (string, error) {
	if home := getenv("HOME"); home != "" {
		return home, nil
	}
	return os.UserHomeDir()
}

// expandHome puts the home folder in place of a leading ~.
func expandHome(file string, getenv func(string) string) string {
	rest, ok := strings.CutPrefix(file, "~")
	if !ok || rest != "" && rest[0] != '/' && rest[0] != filepath.Separator {
		return file
	}
	home, err := homeFolder(getenv)
	if err != nil {
		return file
	}
	return filepath.Join(home, rest)
}
