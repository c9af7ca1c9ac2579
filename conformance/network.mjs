// What the clients connect through: sockets that can be counted, and a fetch that counts and delays.
import { createClient } from 'graphql-ws';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';

import { belfry } from './server.mjs';

/**
 * A client of graphql-ws with npm's `ws`, and the sockets that it opens. The token is sent in connection_init.
 * It takes what createClient does.
 */
export function connectSocket(t, token, { url = belfry().url, ...options } = {}) {
  const sockets = [];
  class CountedSocket extends WebSocket {
    constructor(...args) {
      super(...args);
      this.pings = 0; // of the server, which the client never sees
      this.on('ping', () => this.pings++);
      sockets.push(this);
    }
  }
  const client = createClient({
    url: url.replace(/^http/, 'ws'),
    webSocketImpl: CountedSocket,
    connectionParams: () => (token ? { Authorization: `Bearer ${token}` } : {}),
    ...options,
  });
  t.after(() => client.dispose());
  return { client, sockets };
}

/**
 * A fetch that knows what it was asked for: `taken` returns the kinds of the operations since it was last called,
 * subscriptions aside.
 * `delayNext` keeps the answer to the next operation for some time, and resolves when there is one to keep.
 */
export function countedFetch() {
  let kinds = [];
  let keep;
  const take = async (input, init) => {
    const { query } = JSON.parse(init.body);
    const [, kind] = query.match(/^\s*(query|mutation|subscription)\b/);
    if (kind === 'subscription') return fetch(input, init);
    kinds.push(kind);
    const kept = keep;
    keep = undefined;
    const response = await fetch(input, init);
    await kept?.();
    return response;
  };
  const taken = () => {
    const before = kinds;
    kinds = [];
    return before;
  };
  const delayNext = (ms) =>
    new Promise((resolve) => {
      keep = () => {
        resolve();
        return delay(ms);
      };
    });
  return { fetch: take, taken, delayNext };
}
