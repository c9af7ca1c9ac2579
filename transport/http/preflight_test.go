package http_test

import "testing"

// What browsers send for the elements of a page.
const (
	chromeImage      = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
	chromeNavigation = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8"
	safariImage      = "image/webp,image/avif,video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5"
	styleSheet       = "text/css,*/*;q=0.1"
)

func TestForgedRequests(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	const site, origin = "Sec-Fetch-Site", "Origin"
	tests := []struct {
		name    string
		headers []string
		want    int
	}{
		{"curl", []string{"Accept", "*/*"}, 200},
		{"no Accept", nil, 200},
		{"Node's fetch", []string{"Accept", "*/*", "Sec-Fetch-Mode", "cors"}, 200},
		{"Apollo in Node", []string{"Accept", apollo}, 200},
		{"urql in Node", []string{"Accept", urql}, 200},
		{"Apollo, same origin", []string{"Accept", apollo, site, "same-origin"}, 200},
		{"urql, same origin", []string{"Accept", urql, site, "same-origin"}, 200},
		{"an address typed by the user", []string{"Accept", chromeNavigation, site, "none"}, 200},
		{"an image, same origin", []string{"Accept", chromeImage, site, "same-origin"}, 200},
		{"plain HTTP, same origin", []string{"Accept", urql, origin, "http://example.com"}, 200},

		{"an image", []string{"Accept", chromeImage, site, "cross-site"}, 403},
		{"a script", []string{"Accept", "*/*", site, "cross-site"}, 403},
		{"a link or a form", []string{"Accept", chromeNavigation, site, "cross-site"}, 403},
		{"fetch without a preflight", []string{"Accept", "application/json", site, "cross-site", origin, "https://evil.example"}, 403},
		{"a neighbour's page", []string{"Accept", urql, site, "same-site"}, 403},
		{"with what a proxy makes of a cookie", []string{"Accept", chromeImage, site, "cross-site", "Authorization", "Bearer x"}, 403},
		{"plain HTTP: an image", []string{"Accept", chromeImage}, 403},
		{"plain HTTP: an image, Safari", []string{"Accept", safariImage}, 403},
		{"plain HTTP: a style sheet", []string{"Accept", styleSheet}, 403},
		{"plain HTTP: a link or a form", []string{"Accept", chromeNavigation}, 403},
		{"plain HTTP: fetch", []string{"Accept", "application/json", origin, "http://evil.example"}, 403},
		{"plain HTTP: from a sandbox", []string{"Accept", "application/json", origin, "null"}, 403},

		{"another origin, after a preflight", []string{"Accept", urql, site, "cross-site", "GraphQL-Require-Preflight", "1"}, 200},
		{"Apollo, after a preflight", []string{"Accept", apollo, site, "same-site", "Apollo-Require-Preflight", "true"}, 200},
		{"Apollo for iOS", []string{"Accept", "*/*", "X-Apollo-Operation-Name", "Q"}, 200},
	}
	for _, tt := range tests {
		if rec := get(h, "{__typename}", tt.headers...); rec.Code != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, rec.Code, tt.want)
		}
	}
}
