import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Change, Snapshot } from './model.ts'

/** The page's server: on loopback only, and for pages of its own only. */
export interface PageServer {
  readonly url: string
  /** Tells every open page. */
  tell(change: Change): void
  stop(): Promise<void>
}

/** A page that does not read is closed rather than kept in memory. */
const MOST_UNREAD_BYTES = 4 * 1024 * 1024

const PAGE = new URL('./page.html', import.meta.url)

/** The page loads nothing from anywhere else, whatever a name in the cluster says. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"

export async function startPageServer(options: { port: number; snapshot: () => Snapshot }): Promise<PageServer> {
  const html = await readFile(PAGE)
  const streams = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    const path = isForUs(request, server) ? pathOf(request) : 'foreign'
    if (path === '/') answerPage(response, html)
    else if (path === '/events') openStream(response, streams, options.snapshot())
    else response.writeHead(path === 'foreign' ? 403 : 404).end()
  })
  await listen(server, options.port)
  return {
    url: `http://127.0.0.1:${portOf(server)}/`,
    tell: (change) => {
      const text = frame('change', change)
      for (const stream of streams) send(stream, text)
    },
    stop: () =>
      new Promise((resolve) => {
        for (const stream of streams) stream.end()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A name that somebody else's server points to this address is not ours: its page could read the answers. */
function isForUs({ method, headers }: IncomingMessage, server: Server): boolean {
  const own = ['127.0.0.1', 'localhost'].map((host) => `${host}:${portOf(server)}`)
  return method === 'GET' && own.includes(headers.host ?? '')
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?')[0] ?? url
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

function answerPage(response: ServerResponse, html: Buffer): void {
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICY,
    'cache-control': 'no-store',
  })
  response.end(html)
}

/** Server-sent events: first everything, then what changes. */
function openStream(response: ServerResponse, streams: Set<ServerResponse>, snapshot: Snapshot): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  streams.add(response)
  response.on('close', () => streams.delete(response))
  send(response, frame('snapshot', snapshot))
}

function send(stream: ServerResponse, text: string): void {
  if (stream.writableLength > MOST_UNREAD_BYTES) stream.destroy()
  else stream.write(text)
}

function frame(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
}
