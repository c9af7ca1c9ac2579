// The playground: GraphiQL over the API of the server that this page comes from.
import './workers.js';
import { createRoot } from 'react-dom/client';
import { GraphiQL } from 'graphiql';
import 'graphiql/style.css';
import './page.css';
import { config } from './config.js';
import { fetcher } from './fetcher.js';
import { storage } from './storage.js';

createRoot(document.getElementById('root')).render(
  <GraphiQL
    fetcher={fetcher}
    storage={storage}
    defaultHeaders={JSON.stringify(config.headers, null, 2)}
    defaultTabs={config.tabs}
    // The history would write headers, and with them the token, into the browser's storage.
    plugins={[]}
    shouldPersistHeaders={false}
  >
    <GraphiQL.Logo>Belfry</GraphiQL.Logo>
  </GraphiQL>,
);
