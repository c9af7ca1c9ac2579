// What an app puts into its network layer, whatever its client: the counts that were read last win, in whichever order
// the answers come.

const isObject = (value) => typeof value === 'object' && value !== null;

/** Returns a function that gives each user in an answer the newest counts it has seen of that user. */
export function newestCounts() {
  const seen = new Map();
  return function keep(value) {
    if (!isObject(value)) return value;
    for (const child of Object.values(value)) keep(child);
    if (value.id === undefined || value.countedAt === undefined) return value;
    const newest = seen.get(value.id);
    // Instants have a fixed width, so that they compare as text.
    if (newest === undefined || newest.countedAt <= value.countedAt) {
      const { unreadCount, unseenCount, countedAt } = value;
      seen.set(value.id, { unreadCount, unseenCount, countedAt });
    } else {
      for (const name of ['unreadCount', 'unseenCount', 'countedAt']) {
        if (name in value && newest[name] !== undefined) value[name] = newest[name];
      }
    }
    return value;
  };
}

/** A fetch whose answers have the newest counts. */
export function fetchNewest(fetch) {
  const keep = newestCounts();
  return async (...request) => {
    const response = await fetch(...request);
    const text = JSON.stringify(keep(await response.json()));
    return new Response(text, { status: response.status, headers: { 'content-type': response.headers.get('content-type') } });
  };
}
