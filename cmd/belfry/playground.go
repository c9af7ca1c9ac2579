package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"belfry/web"
)

// pages are what a browser is sent, by the pattern of their address.
type pages map[string]http.Handler

// playgroundPages returns the playground, which fills in the token.
func playgroundPages(token func(*http.Request) string) pages {
	playground := web.NewPlayground(web.PlaygroundConfig{Endpoint: "/graphql", Token: token})
	return pages{"/playground": playground, "/playground/": playground}
}

// servePages returns the pages of serve, where the playground was asked for. Its reader brings the token.
func servePages(hasPlayground bool) pages {
	if !hasPlayground {
		return nil
	}
	return playgroundPages(func(*http.Request) string { return "" })
}

// devPages returns the pages of dev. The playground acts as ada, and may dispatch too, so that one page
// shows both sides.
func devPages(secret []byte, logger *slog.Logger) pages {
	p := playgroundPages(func(r *http.Request) string {
		if !isLocal(r) {
			return ""
		}
		token, err := signToken(secret, "ada", "dispatch", devTokenTTL, "", "")
		if err != nil {
			logger.ErrorContext(r.Context(), "no token for the playground", "error", err)
		}
		return token
	})
	p["GET /{$}"] = http.RedirectHandler("/playground", http.StatusFound)
	return p
}

// isLocal reports whether a request comes from this machine and is meant for it. The name counts as well:
// a foreign page can have its own name lead to this machine (DNS rebinding) and read what is sent to it.
func isLocal(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.IsLoopback()
}
