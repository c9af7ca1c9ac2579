// Builds dist/: the page, its bundle and the licences of what is in it. With --check it compares what it
// builds with what is there, and writes nothing.
//
// The same sources give the same bytes on every machine: the versions are pinned, and gzip is pako's, not
// that of Node's zlib, whose output depends on the processor.
import { build } from 'esbuild';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gzip } from 'pako';
import { licenses } from './licenses.mjs';

const here = import.meta.dirname;
const dist = join(here, 'dist');

// graphiql/style.css has Monaco's styles in it.
const withoutStyles = {
  name: 'without-styles',
  setup: ({ onLoad }) => onLoad({ filter: /[/\\]monaco-editor[/\\].*\.css$/ }, () => ({ contents: '', loader: 'empty' })),
};

const options = {
  absWorkingDir: here,
  entryPoints: {
    main: 'src/main.jsx',
    editor: 'monaco-editor/esm/vs/editor/editor.worker.js',
    json: 'monaco-editor/esm/vs/language/json/json.worker.js',
    graphql: 'monaco-graphql/esm/graphql.worker.js',
  },
  plugins: [withoutStyles],
  // Prettier 3 finds its parsers under these names only.
  alias: {
    'prettier/parser-graphql': 'prettier/plugins/graphql',
    'prettier/parser-babel': 'prettier/plugins/babel',
  },
  define: { 'process.env.NODE_ENV': '"production"' },
  jsx: 'automatic',
  target: 'es2022',
  format: 'esm',
  bundle: true,
  minify: true,
  splitting: true,
  legalComments: 'none', // they are in licenses.txt
  entryNames: '[name]-[hash]',
  chunkNames: 'chunk-[hash]',
  outdir: 'dist',
  write: false,
  metafile: true,
  logLevel: 'warning',
};

// Returns the files of dist/ by name.
async function bundle() {
  const { outputFiles, metafile } = await build(options);
  const files = new Map([['index.html', await page(outputFiles)]]);
  for (const file of outputFiles) {
    files.set(`${basename(file.path)}.gz`, compress(file.contents));
  }
  return files.set('licenses.txt.gz', compress(await licenses(here, metafile)));
}

// The page is a template of Go's, which fills in the configuration; here it gets the hashed names.
async function page(outputFiles) {
  const names = outputFiles.map((file) => basename(file.path));
  const hashed = (name, ext) => names.find((file) => file.startsWith(`${name}-`) && file.endsWith(ext));
  const workers = Object.fromEntries(['editor', 'json', 'graphql'].map((label) => [label, hashed(label, '.js')]));
  const text = await readFile(join(here, 'index.html'), 'utf8');
  return Buffer.from(
    text
      .replace('%main.js%', hashed('main', '.js'))
      .replace('%main.css%', hashed('main', '.css'))
      .replace('%workers%', JSON.stringify(workers)),
  );
}

const compress = (bytes) => Buffer.from(gzip(bytes, { level: 9 }));

async function write(files) {
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist);
  for (const [name, bytes] of files) {
    await writeFile(join(dist, name), bytes);
  }
}

async function check(files) {
  const stored = new Set(await readdir(dist));
  const differing = [...stored].filter((name) => !files.has(name));
  for (const [name, bytes] of files) {
    if (!stored.has(name) || !bytes.equals(await readFile(join(dist, name)))) differing.push(name);
  }
  if (differing.length > 0) {
    console.error(`dist/ is not what the sources give; make web builds it anew: ${differing.sort().join(', ')}`);
    process.exitCode = 1;
  }
}

await (process.argv.includes('--check') ? check : write)(await bundle());
