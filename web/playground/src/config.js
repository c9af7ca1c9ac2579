// What the server filled in: see settings in web/playground.go.
export const config = JSON.parse(document.getElementById('config').textContent);

// Absolute addresses on the page's own origin.
export const endpoint = new URL(config.endpoint, location.href);
export const socketEndpoint = new URL(endpoint);
socketEndpoint.protocol = endpoint.protocol === 'https:' ? 'wss:' : 'ws:';
