// PostGraphile as its manual sets it up for production: the recommended preset in a server of Node's own, no
// GraphiQL, no explain, no watching, prepared statements, and a pool as large as Belfry's. It serves on a free
// port, which it prints.
import { createServer } from 'node:http'
import { grafserv } from 'postgraphile/grafserv/node'
import { makePgService } from 'postgraphile/adaptors/pg'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'
import { postgraphile } from 'postgraphile'

const pgl = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [
    makePgService({
      connectionString: process.env.BENCH_DATABASE_URL,
      schemas: ['public'],
      poolConfig: { max: Number(process.env.BENCH_POOL) },
    }),
  ],
  grafserv: { graphiql: false, watch: false },
  grafast: { explain: false },
})

const server = createServer()
await pgl.createServ(grafserv).addTo(server)
server.listen({ host: '127.0.0.1', port: 0 }, () => console.log(`127.0.0.1:${server.address().port}`))
