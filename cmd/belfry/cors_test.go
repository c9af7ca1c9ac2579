package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestCORS(t *testing.T) {
	t.Parallel()
	served := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			w.Header().Set("Allow", "GET, POST")
		}
	})
	tests := []struct {
		name, origins, origin string
		want                  bool
	}{
		{"named", "app.example.com", "https://app.example.com", true},
		{"named among others", "a.example, app.example.com", "https://app.example.com", true},
		{"a pattern", "*.example.com", "https://app.example.com", true},
		{"in capitals", "App.Example.com", "https://app.example.com", true},
		{"with a port", "localhost:*", "http://localhost:5173", true},
		{"with a scheme", "https://app.example.com", "https://app.example.com", true},
		{"another scheme", "https://app.example.com", "http://app.example.com", false},
		{"another port", "localhost:5173", "http://localhost:3000", false},
		{"another host", "app.example.com", "https://evil.example", false},
		{"a host that ends alike", "example.com", "https://evilexample.com", false},
		{"opaque", "*", "null", false},
		{"none allowed", "", "https://app.example.com", false},
	}
	for _, tt := range tests {
		h := withCORS(served, originsOf(tt.origins))
		preflight := httptest.NewRequestWithContext(t.Context(), http.MethodOptions, "/graphql", nil)
		preflight.Header.Set("Origin", tt.origin)
		preflight.Header.Set("Access-Control-Request-Method", "POST")
		preflight.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
		post := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", nil)
		post.Header.Set("Origin", tt.origin)
		for _, req := range []*http.Request{preflight, post} {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, req)
			allowed := rec.Header().Get("Access-Control-Allow-Origin")
			if got := allowed != ""; got != tt.want || allowed == "*" {
				t.Errorf("%s: %s: allowed: got %q, want %t", tt.name, req.Method, allowed, tt.want)
			}
			if rec.Header().Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s: credentials are allowed", tt.name)
			}
		}
	}
	for _, origin := range []string{"http://localhost:5173", "http://127.0.0.1:3000", "http://[::1]:3000", "http://localhost"} {
		if !matchesOrigin(origin, devOrigins()) {
			t.Errorf("in dev, %s is refused", origin)
		}
	}
	if matchesOrigin("http://localhost.evil.example:80", devOrigins()) {
		t.Error("in dev, a host that begins alike is allowed")
	}
}
