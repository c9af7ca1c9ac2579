package webpush

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// DefaultHosts returns the push services of the browsers: Chrome and its kin, Firefox, Safari, Edge.
func DefaultHosts() []string {
	return []string{"fcm.googleapis.com", "*.push.services.mozilla.com", "*.push.apple.com", "*.notify.windows.com"}
}

const httpsPort = "443"

// hosts is a list of places that messages may go to.
type hosts []hostPattern

type hostPattern struct {
	domain string
	// isWildcard stands for all hosts below the domain.
	isWildcard bool
	port       string
}

// hostSyntax is a host name or an IPv4 address in lower case, after an optional *. and before an
// optional port.
var hostSyntax = regexp.MustCompile(`^(\*\.)?([a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)(?::([0-9]{1,5}))?$`)

func parseHosts(patterns []string) (hosts, error) {
	var list hosts
	for _, pattern := range patterns {
		m := hostSyntax.FindStringSubmatch(strings.ToLower(pattern))
		// *.com is all of them.
		if m == nil || m[1] != "" && !strings.Contains(m[2], ".") {
			return nil, fmt.Errorf("web push host %q: must be a host or *. and a domain of two labels, with an optional port", pattern)
		}
		list = append(list, hostPattern{domain: m[2], isWildcard: m[1] != "", port: cmp.Or(m[3], httpsPort)})
	}
	return list, nil
}

// allow reports whether messages may go to u. A name that ends in a dot matches nothing.
func (h hosts) allow(u *url.URL) bool {
	if u.Scheme != "https" || u.User != nil {
		return false
	}
	name, port := strings.ToLower(u.Hostname()), cmp.Or(u.Port(), httpsPort)
	for _, p := range h {
		if port == p.port && p.matches(name) {
			return true
		}
	}
	return false
}

func (p hostPattern) matches(name string) bool {
	below, ok := strings.CutSuffix(name, p.domain)
	if !p.isWildcard {
		return ok && below == ""
	}
	return ok && len(below) > 1 && strings.HasSuffix(below, ".")
}

// origin returns the scheme, host and port of u as a VAPID token names its audience (RFC 6454, section
// 6.1): in lower case, the port left out where it is 443.
func origin(u *url.URL) string {
	return "https://" + strings.TrimSuffix(strings.ToLower(u.Host), ":"+httpsPort)
}
