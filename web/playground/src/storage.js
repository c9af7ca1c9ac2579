// Keys of our own: another GraphiQL may have been served from the same port.
const prefix = 'belfry:';
const keys = () => Object.keys(localStorage).filter((key) => key.startsWith(prefix));

export const storage = {
  getItem: (key) => localStorage.getItem(prefix + key),
  setItem: (key, value) => localStorage.setItem(prefix + key, value),
  removeItem: (key) => localStorage.removeItem(prefix + key),
  clear: () => keys().forEach((key) => localStorage.removeItem(key)),
  get length() {
    return keys().length;
  },
};
