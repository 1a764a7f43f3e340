import { systemClock } from '@csi-sidecars/base'
import { ConnectionPool, dialer, exchange, openTcp } from '@csi-sidecars/http1'
import { type BenchClient, type BenchServer, CONNECTIONS, HEADERS, TIMEOUT_MS } from './client.ts'
import { run } from './run.ts'

await run(openClient)

/** Opens our client, as libs/kube-client uses it. */
function openClient({ host, port, ca }: BenchServer): BenchClient {
  const clock = systemClock
  const dial = dialer({ address: { host, port }, open: openTcp, tls: () => ({ ca }), clock })
  const pool = new ConnectionPool({ dial, clock, maxConnections: CONNECTIONS })
  const headers = Object.entries({ Host: `${host}:${port}`, ...HEADERS })
  const common = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return {
    send: async ({ path, body: text, signal }) => {
      const connection = await pool.acquire(signal)
      try {
        const request = `PATCH ${path} HTTP/1.1\r\n${common}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
        const { head, body } = await exchange(connection, request, { clock, timeoutMs: TIMEOUT_MS, signal })
        if (head.status !== 200) throw new Error(`the server answers ${head.status}`)
        return body.length
      } finally {
        pool.release(connection)
      }
    },
    close: () => pool.close(),
  }
}
