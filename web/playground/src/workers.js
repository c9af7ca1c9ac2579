// Monaco's workers, as modules from this server. build.mjs wrote their hashed names into the page.
const files = JSON.parse(document.getElementById('workers').textContent);

globalThis.MonacoEnvironment = {
  getWorker: (_, label) =>
    new Worker(new URL(files[label] ?? files.editor, import.meta.url), { type: 'module' }),
};
