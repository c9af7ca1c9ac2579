package main

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/rs/cors"
)

// preflightMaxAge is how long a browser may remember what it was allowed, in seconds.
const preflightMaxAge = 3600

// withCORS lets pages of other hosts than the server's own read answers, where the origins name them: the
// same ones whose pages may open sockets. Tokens travel in a header that a page has to set, so there is
// nothing of the browser's own, such as a cookie, that a foreign page could make use of.
func withCORS(next http.Handler, origins []string) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return cors.New(cors.Options{
		AllowOriginFunc: func(origin string) bool { return matchesOrigin(origin, origins) },
		AllowedMethods:  []string{http.MethodGet, http.MethodPost},
		AllowedHeaders:  []string{"*"},
		MaxAge:          preflightMaxAge,
		// The API answers OPTIONS itself where it is no preflight.
		OptionsPassthrough: false,
	}).Handler(next)
}

// matchesOrigin reports whether a pattern of path.Match fits the origin's host and port, or all of the
// origin where the pattern has a scheme: as for sockets.
func matchesOrigin(origin string, patterns []string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	for _, pattern := range patterns {
		target := u.Host
		if strings.Contains(pattern, "://") {
			target = u.Scheme + "://" + u.Host
		}
		if ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(target)); err == nil && ok {
			return true
		}
	}
	return false
}

// originsOf reads a list of patterns separated by commas.
func originsOf(list string) []string {
	var origins []string
	for o := range strings.SplitSeq(list, ",") {
		if o = strings.TrimSpace(o); o != "" {
			origins = append(origins, o)
		}
	}
	return origins
}

// devOrigins are the pages of a developer's own machine, such as those of a bundler's server.
func devOrigins() []string { return []string{"localhost", "localhost:*", "127.0.0.1:*", `\[::1\]:*`} }
